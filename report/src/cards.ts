// The summary: what a run is and its main numbers, each with where it comes from.
import type { Card } from "./document";
import { element } from "./dom";

// The certificate is a sentence; the others are short.
const is_sentence = (card: Card): boolean => card.id === "certificate";

export function card_list(cards: Card[]): HTMLElement {
  const ordered = [...cards.filter(is_sentence), ...cards.filter((card) => !is_sentence(card))];
  return element("dl", { class: "cards" }, ...ordered.map((card) => {
    const kind = is_sentence(card) ? "card sentence" : typeof card.number === "number" ? "card figure" : "card";
    const node = element("div", { class: kind }, element("dt", {}, card.label), element("dd", {}, card.value));
    node.dataset.card = card.id;
    if (card.tone === "bad") node.classList.add("bad");
    if (card.source) node.append(element("dd", { class: "source" }, card.source));
    return node;
  }));
}
