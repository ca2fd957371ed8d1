// Making elements. Text goes in as text nodes only: nothing from the data is ever read as markup.

/** An element with properties and children (strings or nodes; null is left out). */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function makeSvg(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A number for people: at most `digits` decimals, a dash where there is none. */
function shown(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(digits);
}

/** A strip of `depth` places with the target's rank marked; rank 0: not in the list. */
function strip(rank, depth, length) {
  const step = 20;
  const svg = makeSvg("svg", { viewBox: `0 0 ${20 * step} 20`, preserveAspectRatio: "xMinYMid meet", "aria-hidden": "true" });
  for (let place = 1; place <= depth; place += 1) {
    const x = (place - 0.5) * step;
    const held = place <= length;
    svg.append(makeSvg("circle", { cx: x, cy: 10, r: held ? 2.2 : 1.2, fill: "currentColor", opacity: held ? 0.4 : 0.2 }));
  }
  if (rank > 0 && rank <= 20) {
    const x = (rank - 0.5) * step;
    svg.append(makeSvg("path", { d: `M${x} 1.5L${x + 8.5} 10L${x} 18.5L${x - 8.5} 10Z`, fill: "var(--hit)", stroke: "currentColor" }));
  }
  return svg;
}

/** The scale above the strips. */
function stripScale() {
  const svg = makeSvg("svg", { viewBox: "0 0 400 20", preserveAspectRatio: "xMinYMid meet", "aria-hidden": "true" });
  for (const rank of [1, 5, 10, 15, 20]) {
    svg.append(makeSvg("text", { x: (rank - 0.5) * 20, y: 16, "text-anchor": "middle", "font-size": 13, fill: "currentColor" }, String(rank)));
  }
  return svg;
}
