// How panels of a figure stand.

const kBeside = 4; // panels, at most

// As many as the rows say; where these would be too long, 3 or 4, whichever leaves less of the last row empty.
export function columns_of(panels: number, rows: number): number {
  const columns = Math.ceil(panels / rows);
  const left = (beside: number): number => Math.ceil(panels / beside) * beside - panels;
  return columns <= kBeside ? columns : left(kBeside) < left(3) ? kBeside : 3;
}
