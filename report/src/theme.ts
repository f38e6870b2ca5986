// Light or dark: as the system says, or as chosen for this visit; where the system chooses all colours, as it says.
// style.css reads data-theme; print is always light.
import { button, element } from "./dom";

const system = matchMedia("(prefers-color-scheme: dark)");
const forced = matchMedia("(forced-colors: active)");
const kChoices = ["Auto", "Light", "Dark"] as const;
let choice: (typeof kChoices)[number] = "Auto";

function apply(): void {
  const dark = choice === "Auto" || forced.matches ? system.matches : choice === "Dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

export function theme_choice(): HTMLElement {
  const buttons = kChoices.map((name) => button(name, { "aria-pressed": String(name === choice) }, () => {
    choice = name;
    kChoices.forEach((other, i) => buttons[i]!.setAttribute("aria-pressed", String(other === choice)));
    apply();
  }));
  [system, forced].forEach((query) => query.addEventListener("change", apply));
  apply();
  return element("div", { class: "theme", role: "group", "aria-label": "Colours of the page" }, ...buttons);
}
