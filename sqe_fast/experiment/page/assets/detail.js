// One question: what the gate saw, where the target stood, the answers of the methods, and the probes.

const detail = document.getElementById("x-detail");
const dialog = document.getElementById("x-document");

function openDocument(seed, place) {
  dialog.querySelector("h3").textContent = part(seed, "rows").ids[place];
  dialog.querySelector("pre").textContent = documentText(seed, place);
  dialog.showModal();
}

/** The id of a document: a button where its text is on the page. */
function documentName(seed, place) {
  const name = part(seed, "rows").ids[place];
  if (documentText(seed, place) === null) return make("span", { class: "doc" }, name);
  return make("button", { type: "button", class: "doc", "aria-haspopup": "dialog", onclick: () => openDocument(seed, place) }, name);
}

/** A ranked list; the target is marked, by a word too, and a line stands below the cut-off. */
function hits(seed, places, scores, target, cut) {
  const list = make("ol", { class: "hits" });
  places.forEach((place, at) => {
    const isTarget = place === target;
    const name = ["", isTarget ? "target" : "", at + 1 === cut && at + 1 < places.length ? "cut" : ""].join(" ").trim();
    list.append(make("li", { class: name || null },
      make("span", { class: "rank" }, String(at + 1)),
      make("span", { class: "doc" }, documentName(seed, place), isTarget ? " ◆ target" : null),
      make("span", { class: "score" }, scores && scores[at] !== undefined ? shown(scores[at], scores[at] < 1 ? 4 : 2) : "")));
  });
  if (!places.length) list.append(make("li", { class: "none" }, "nothing found"));
  return list;
}

function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** The table of ranks: one strip a list. */
function stands(groups) {
  // The roles stay when a narrow page lays the rows out as blocks.
  const body = make("tbody", { role: "rowgroup" });
  for (const [title, rows] of groups) {
    if (!rows.length) continue;
    body.append(make("tr", { class: "group", role: "row" }, make("th", { colspan: "3", scope: "colgroup", role: "rowheader" }, title)));
    for (const [name, rank, depth, length] of rows) {
      const place = rank ? [String(rank)] : [make("span", { "aria-hidden": "true" }, "–"), make("span", { class: "hidden" }, "not found")];
      body.append(make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader" }, name), make("td", { class: "strip", role: "cell" }, strip(rank, depth, length)), make("td", { class: "n", role: "cell", "data-rank": rank }, ...place)));
    }
  }
  return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "Where the target stood" },
    make("table", { class: "stands", role: "table" }, make("caption", { class: "hidden" }, "Rank of the target in each list"),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, make("th", { scope: "col", role: "columnheader" }, "List"), make("th", { scope: "col", class: "strip", role: "columnheader" }, make("span", { class: "hidden" }, "Ranks 1 to 20"), stripScale()), make("th", { scope: "col", class: "n", role: "columnheader" }, "Target"))), body));
}

function answerCard(seed, i, method, target, cut) {
  const told = [
    method.expanded[i] ? "expanded" : "not expanded",
    method.fused[i] ? `${method.fused[i]} list${method.fused[i] === 1 ? "" : "s"}` : null,
    method.calls[i] ? `${method.calls[i]} call${method.calls[i] === 1 ? "" : "s"}, ${shown(method.tokens[i])} tokens` : null,
    method.seconds[i] === null ? null : `${shown(method.seconds[i], 2)} s`,
  ].filter(Boolean).join(" · ");
  const took = method.combinations[method.took[i]];
  const refused = Object.entries(method.refused[i] ?? {}).map(([name, why]) => `${name} (${why})`);
  return make("section", { class: "card" }, make("h4", {}, method.name), make("p", {}, told),
    took.length > 1 ? make("details", {}, make("summary", {}, "Lists that took part"), took.join(", ")) : null,
    refused.length ? make("p", {}, `Refused: ${refused.join("; ")}`) : null,
    method.problems[i] ? make("p", { class: "hurt" }, method.problems[i]) : null,
    hits(seed, method.ids[i], method.scores[i], target, cut));
}

/** The probes of a question: name, text, and the lists that were made with it. */
function probesOf(seed, i) {
  const texts = part(seed, "probes")?.[i];
  const lists = part(seed, "lists");
  const scores = part(seed, "scores");
  const found = [{ name: "question", text: null, lists: [] }];
  const [traces, paraphrases] = texts ?? [[], []];
  traces.forEach((text, at) => found.push({ name: `trace ${at + 1}`, text, lists: [] }));
  paraphrases.forEach((text, at) => found.push({ name: `paraphrase ${at + 1}`, text, lists: [] }));
  (lists?.names ?? []).forEach((name, at) => {
    const ids = lists.ids[i][at];
    if (!ids) return;
    const probe = name.slice(0, name.lastIndexOf(" "));
    let owner = found.find((other) => other.name === probe);
    if (!owner) found.push(owner = { name: probe, text: null, lists: [] });
    owner.lists.push({ name, index: name.slice(probe.length + 1), ids, rank: lists.ranks[i][at], scores: scores?.[i][at] ?? null });
  });
  return found.filter((probe) => probe.text !== null || probe.lists.length);
}

function showQuestion({ seed, i }, cut) {
  const rows = part(seed, "rows");
  const target = rows.targets[i];
  const probes = probesOf(seed, i);
  const problem = part(seed, "probes")?.[i]?.[2];
  const targetText = documentText(seed, target);
  const lists = probes.flatMap((probe) => probe.lists);
  const signals = Object.entries(rows.signals).map(([name, values]) => [name, shown(values[i])]);
  const nodes = [
    make("h3", {}, rows.queries[i][1]),
    facts([["Query", rows.queries[i][0]], ["Seed", String(seed)], ["Target", documentNameButton(seed, target)]]),
    problem ? make("p", { class: "hurt" }, `Expansion: ${problem}`) : null,
    targetText === null ? null : make("details", {}, make("summary", {}, "Text of the target"), make("pre", { tabindex: "0" }, targetText)),
    make("h3", {}, "Gate signals"),
    signals.length ? facts(signals) : make("p", { class: "missing" }, "The rows hold no signals."),
    make("h3", {}, "Where the target stood"),
    stands([
      ["Lists of the probes", lists.map((list) => [list.name, list.rank, Math.max(list.ids.length, list.rank), list.ids.length])],
      ["Answers of the methods", rows.methods.map((method) => [method.name, method.ranks[i], method.ids[i].length, method.ids[i].length])],
    ]),
    make("h3", {}, "Answers of the methods"),
    make("div", { class: "cards" }, ...rows.methods.map((method) => answerCard(seed, i, method, target, cut))),
  ];
  if (probes.length) nodes.push(make("h3", {}, "Probes and their lists"));
  for (const probe of probes) {
    nodes.push(make("section", { class: "probe" }, make("h4", {}, probe.name), probe.text === null ? null : make("pre", { tabindex: "0" }, probe.text),
      make("div", { class: "cards" }, ...probe.lists.map((list) => make("section", { class: "card" }, make("h5", {}, list.index),
        make("p", {}, list.rank ? `target at rank ${list.rank}` : "target not found"), hits(seed, list.ids, list.scores, target, 0))))));
  }
  detail.replaceChildren(...nodes.filter(Boolean));
}

function documentNameButton(seed, place) {
  const element = documentName(seed, place);
  if (element.tagName === "BUTTON") element.className = "linklike";
  return element;
}
