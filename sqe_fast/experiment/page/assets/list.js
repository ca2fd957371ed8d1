// The list of questions and its filters.

const PAGE = 50;
const BASE = "Dense-Only";
const OUTCOMES = [["all", "All"], ["hit", "Hit"], ["miss", "Miss"], ["helped", "Helped"], ["hurt", "Hurt"]];
const EXPANSIONS = [["any", "Any"], ["yes", "Expanded"], ["no", "Not expanded"]];
const at = (id) => document.getElementById(`x-${id}`);
const state = { seed: "", method: "", cut: 5, text: "", outcome: "all", expansion: "any", page: 0, chosen: null, found: [] };

const hit = (rank) => rank > 0 && rank <= state.cut;

/** What the filters ask of one question: ranks by the method and by dense search, and what follows from them. */
function verdict(question) {
  const method = methodOf(question.seed, state.method);
  const base = methodOf(question.seed, BASE);
  if (!method) return { rank: null, base: null, is: new Set() };
  const rank = method.ranks[question.i];
  const before = base ? base.ranks[question.i] : null;
  const is = new Set(["all", hit(rank) ? "hit" : "miss", "any", method.expanded[question.i] ? "yes" : "no"]);
  if (before !== null && hit(rank) !== hit(before)) is.add(hit(rank) ? "helped" : "hurt");
  return { rank, base: before, is };
}

function refresh({ keep = false } = {}) {
  const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = {};
  state.found = [];
  for (const seed of state.seed === "" ? seeds : [Number(state.seed)]) {
    for (const question of questionsOf(seed)) {
      if (!words.every((word) => question.words.includes(word))) continue;
      const told = verdict(question);
      // A count says how many there would be with that filter and the other one as it is.
      if (told.is.has(state.expansion)) for (const [name] of OUTCOMES) counts[name] = (counts[name] ?? 0) + told.is.has(name);
      if (told.is.has(state.outcome)) for (const [name] of EXPANSIONS) counts[name] = (counts[name] ?? 0) + told.is.has(name);
      if (told.is.has(state.outcome) && told.is.has(state.expansion)) state.found.push([question, told]);
    }
  }
  for (const [name] of [...OUTCOMES, ...EXPANSIONS]) at(`n-${name}`).textContent = shown(counts[name] ?? 0);
  if (!keep) state.page = 0;
  drawList();
}

function drawList() {
  const first = state.page * PAGE;
  const slice = state.found.slice(first, first + PAGE);
  at("count").textContent = slice.length ? `${shown(first + 1)}–${shown(first + slice.length)} of ${shown(state.found.length)} question${state.found.length === 1 ? "" : "s"}` : "No question fits.";
  at("list").replaceChildren(...slice.map(([question, told]) => {
    const name = told.is.has("helped") ? "helped" : told.is.has("hurt") ? "hurt" : "";
    const ranks = told.base === null ? rankText(told.rank) : `${rankText(told.base)} → ${rankText(told.rank)}`;
    const button = make("button", { type: "button", "aria-current": isChosen(question) ? "true" : "false", "data-key": `${question.seed}/${question.id}`, onclick: () => choose(question) },
      make("span", { class: "id" }, `${question.id} · seed ${question.seed}`),
      make("span", { class: "ranks" }, ranks, name ? make("span", { class: name }, ` ${name}`) : null),
      make("span", { class: "question" }, question.query));
    return make("li", {}, button);
  }));
  at("before").disabled = state.page === 0;
  at("after").disabled = first + PAGE >= state.found.length;
}

const rankText = (rank) => (rank ? String(rank) : "–");
const isChosen = (question) => state.chosen !== null && question.seed === state.chosen.seed && question.i === state.chosen.i;

function choose(question, { remember = true } = {}) {
  state.chosen = question;
  for (const button of at("list").querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.key === `${question.seed}/${question.id}`));
  showQuestion(question, state.cut);
  // By a click: what was chosen must be in view, also where it stands below the list.
  const top = detail.getBoundingClientRect().top;
  if (remember && (top < 0 || top > innerHeight * 0.7)) detail.scrollIntoView({ block: "start" });
  if (remember) history.replaceState(null, "", `#question=${question.seed}/${encodeURIComponent(question.id)}`);
}

function move(step) {
  state.page += step;
  drawList();
  at("list").scrollTop = 0;
}

/** Arrow keys walk through the list; Home and End go to its ends. */
function walk(event) {
  const buttons = [...at("list").querySelectorAll("button")];
  const here = buttons.indexOf(document.activeElement);
  const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (here < 0 || next === undefined || !buttons[next]) return;
  event.preventDefault();
  buttons[next].focus();
}

/** The question that the address names, as in #question=42/q001. */
function fromAddress() {
  const match = /^#question=(\d+)\/(.+)$/.exec(location.hash);
  if (!match || !seeds.includes(Number(match[1]))) return null;
  let id = match[2];
  try {
    id = decodeURIComponent(id);
  } catch {
    return null; // not an address that this page has written
  }
  return questionsOf(Number(match[1])).find((question) => question.id === id) ?? null;
}

function radios(parent, name, choices) {
  for (const [value, label] of choices) {
    const input = make("input", { type: "radio", name, value, checked: value === state[name], onchange: () => { state[name] = value; refresh(); } });
    parent.append(make("label", {}, input, `${label} `, make("b", { id: `x-n-${value}` })));
  }
}

function startExplorer() {
  if (!seeds.length) return;
  const asked = fromAddress();
  state.seed = String(asked ? asked.seed : seeds[0]);
  for (const seed of seeds) at("seed").append(make("option", { value: seed }, String(seed)));
  if (seeds.length > 1) at("seed").append(make("option", { value: "" }, "all"));
  at("seed").value = state.seed;
  const names = [...new Set(seeds.slice(0, 1).flatMap((seed) => part(seed, "rows").methods.map((method) => method.name)))];
  for (const name of names) at("method").append(make("option", { value: name }, name));
  state.method = at("method").value = names.includes("Selective-QE") ? "Selective-QE" : names[0];
  radios(at("outcome"), "outcome", OUTCOMES);
  radios(at("expansion"), "expansion", EXPANSIONS);
  for (const name of ["seed", "method"]) at(name).addEventListener("change", () => { state[name] = at(name).value; refresh(); });
  at("cut").addEventListener("change", () => {
    state.cut = Number(at("cut").value);
    refresh();
    if (state.chosen) showQuestion(state.chosen, state.cut);
  });
  at("text").addEventListener("input", () => { state.text = at("text").value; refresh(); });
  document.querySelector(".controls").addEventListener("submit", (event) => event.preventDefault());
  at("before").addEventListener("click", () => move(-1));
  at("after").addEventListener("click", () => move(1));
  at("list").addEventListener("keydown", walk);
  window.addEventListener("hashchange", () => { const question = fromAddress(); if (question) choose(question, { remember: false }); });
  document.getElementById("explorer").hidden = false;
  refresh();
  // What helped tells most; without such a question, the first.
  const first = asked ?? (state.found.find(([, told]) => told.is.has("helped")) ?? state.found[0])?.[0];
  if (first) choose(first, { remember: false });
  if (asked) document.getElementById("explorer").scrollIntoView();
}
