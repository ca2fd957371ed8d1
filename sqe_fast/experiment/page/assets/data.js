// The data of the seeds: JSON in script elements, parsed when a seed is first looked at.

const parsed = new Map();

/** One part of a seed ("rows", "probes", ...), or null where the page left it out. */
function part(seed, name) {
  const key = `${seed}/${name}`;
  if (!parsed.has(key)) {
    const element = document.getElementById(`data-${seed}-${name}`);
    parsed.set(key, element ? JSON.parse(element.textContent) : null);
  }
  return parsed.get(key);
}

/** The seeds of the page, in order. */
const seeds = [...document.querySelectorAll('script[data-part="rows"]')].map((element) => Number(element.dataset.seed));

/** The text of a document of a seed, by its place in the table of ids, or null. */
function documentText(seed, place) {
  for (const name of ["targets", "documents"]) {
    const texts = part(seed, name);
    if (texts && Object.hasOwn(texts, place)) return texts[place];
  }
  return null;
}

/** All questions of a seed as small records that list and filters use. */
const questions = new Map();
function questionsOf(seed) {
  if (!questions.has(seed)) {
    const rows = part(seed, "rows");
    questions.set(seed, rows.queries.map(([id, query], i) => ({
      seed, i, id, query, words: `${id}\n${query}\n${rows.ids[rows.targets[i]]}`.toLowerCase(),
    })));
  }
  return questions.get(seed);
}

/** The rows of a method of a seed by its name, or undefined. */
function methodOf(seed, name) {
  return part(seed, "rows").methods.find((method) => method.name === name);
}
