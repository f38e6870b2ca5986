// The data of a page: include/selfnorm/report/document.h says what everything is. What is empty is left out.

export type Numbers = (number | null)[];

export type Stroke =
  | "line" | "dashed" | "points" | "marks" | "line_points" | "dashed_points" | "region" | "bars" | "rules" | "bands";

export interface Axis {
  label?: string;
  logarithmic?: boolean;
  low?: number;
  high?: number;
  ticks?: string[]; // names of 1, 2, 3, ...
}

export interface Series {
  name?: string;
  stroke: Stroke;
  colour?: number;
  x: Numbers;
  y: Numbers;
  error?: Numbers;
  x_end?: Numbers;
  labels?: string[];
}

export interface Heat {
  columns: number;
  rows: number;
  value: number[]; // row by row from below, 0 to 1
  label?: string;
  most?: number; // the amount that 1 stands for
  scale?: "linear" | "root" | "logarithm";
}

export interface Panel {
  title?: string;
  x: Axis;
  y: Axis;
  equal_units?: boolean;
  series?: Series[];
  heat?: Heat;
}

export interface Figure {
  id: string;
  title: string;
  look?: string;
  rows?: number;
  panels: Panel[];
}

export type Cell = number | string | null;

export interface Table {
  id: string;
  title: string;
  look?: string;
  columns: string[];
  rows: Cell[][];
}

export interface Card {
  id: string;
  label: string;
  value: string;
  number?: number;
  source?: string;
  tone?: string; // "bad": red
}

export interface Section {
  title: string;
  figures?: Figure[];
  tables?: Table[];
}

export interface Document {
  format: 1;
  name: string;
  command: string;
  title: string;
  version?: string; // of the program that made the page
  notes?: string[];
  cards?: Card[];
  sections?: Section[];
}
