"""The page as a reader sees it, in Chromium: quiet, complete in itself, usable, without collisions."""

from __future__ import annotations

import base64
import json

import pytest

# Texts of each drawing that is shown: text, box; and the drawing's own box.
DRAWINGS = """
const box = (e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; };
return [...document.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width > 0)
  .map((svg) => ({ id: svg.getAttribute("aria-labelledby") ?? "strip", box: box(svg),
    texts: [...svg.querySelectorAll("text")].map((text) => [text.textContent, box(text)]) }));
"""
# Pairs of blocks side by side in the document that cover one another.
COLLISIONS = """
const seen = (e) => {
  const r = e.getBoundingClientRect(), s = getComputedStyle(e);
  return r.width > 1 && r.height > 1 && s.position !== "absolute" && s.display !== "inline"
    && s.visibility !== "hidden";
};
const found = [];
for (const parent of document.querySelectorAll("body, header, main, main *")) {
  if (parent.closest("svg") || parent.tagName === "TR" || parent.tagName === "TBODY") continue;
  const children = [...parent.children].filter(seen).map((e) => [e, e.getBoundingClientRect()]);
  children.forEach(([a, r], i) => children.slice(i + 1).forEach(([b, q]) => {
    const across = Math.min(r.right, q.right) - Math.max(r.left, q.left);
    const down = Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top);
    const name = (e) => `${e.tagName}#${e.id}.${e.className}`;
    if (across > 1 && down > 1) found.push(`${name(a)} / ${name(b)} in ${name(parent)}`);
  }));
}
return found;
"""
# What reaches beyond the page at the right, unless it is within a container that scrolls.
OUTSIDE = """
const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")].filter((e) => {
  const r = e.getBoundingClientRect();
  const inside = e.parentElement.closest(".scroll, pre, #x-list");
  return r.width > 1 && r.right > wide + 1 && !inside && !e.closest(".hidden, .skip");
}).map((e) => `${e.tagName}#${e.id}.${e.className}`);
"""
# What is cut off at the right within its own box, though it does not scroll.
CUT = """
return [...document.querySelectorAll("main *, header *")].filter((e) => {
  const overflow = getComputedStyle(e).overflowX;
  return !e.closest("svg, .hidden, select") && !e.querySelector(".scroll") && e.clientWidth > 0
    && e.scrollWidth > e.clientWidth + 1 && overflow !== "auto" && overflow !== "scroll";
}).map((e) => `${e.tagName}#${e.id}.${e.className}: ${e.scrollWidth} > ${e.clientWidth}`);
"""

CHOICES = {
    42: [("Selective-QE", 5), ("Always-Expand", 1)],
    43: [("BM25-Only", 10)],
    44: [("Random-Gated-Expansion", 5)],
}


def overlap(a, b):
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return across > 0.5 and down > 0.5


def css(chrome, selector):
    return chrome.find_elements("css selector", selector)


def one(chrome, selector):
    (found,) = css(chrome, selector)
    return found


def press(chrome, selector):
    chrome.execute_script("arguments[0].click()", one(chrome, selector))


def pick(chrome, name, value):
    press(chrome, f'input[name="{name}"][value="{value}"]')


def select(chrome, name, value):
    from selenium.webdriver.support.ui import Select

    Select(one(chrome, f"#x-{name}")).select_by_value(value)


def shown_count(chrome):
    """Return how many questions the list says it has."""
    text = one(chrome, "#x-count").text
    return 0 if text.startswith("No ") else int(text.split(" of ")[1].split()[0].replace(",", ""))


def no_complaints(chrome):
    assert [entry for entry in chrome.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_and_asks_nobody(look, example_page, scheme):
    chrome = look(example_page.path, scheme=scheme)
    no_complaints(chrome)
    messages = [json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if not url.startswith("data:")} <= {example_page.path.as_uri()}
    assert chrome.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_policy_refuses_requests_and_foreign_scripts(look, example_page):
    chrome = look(example_page.path)
    refused = chrome.execute_async_script(
        """
        const done = arguments[0], found = [];
        document.addEventListener("securitypolicyviolation", (event) => {
          found.push(event.effectiveDirective);
          if (found.length === 3) done(found.sort());
        });
        new Image().src = "http://127.0.0.1:9/picture";
        fetch("http://127.0.0.1:9/data").catch(() => null);
        const script = document.createElement("script");
        script.textContent = "window.foreign = true";
        document.body.append(script);
        """
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert chrome.execute_script("return window.foreign === undefined")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_overlaps_and_nothing_is_cut(look, example_page, width):
    chrome = look(example_page.path, width)
    assert chrome.execute_script("return innerWidth") == width
    assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
    assert chrome.execute_script(OUTSIDE) == []
    assert chrome.execute_script(COLLISIONS) == []
    assert chrome.execute_script(CUT) == []
    drawings = chrome.execute_script(DRAWINGS)
    named = [drawing for drawing in drawings if drawing["id"] != "strip"]
    assert [d["id"].split("-title")[0] for d in named] == [
        f"{name}-{'wide' if width > 560 else 'narrow'}"
        for name in ("figure-recall", "figure-tokens", "figure-sweep", "figure-headroom", "gate-curves-1")
    ]
    for drawing in drawings:
        x, y, w, h = drawing["box"]
        assert w > (300 if drawing in named else 100)
        assert h > (200 if drawing in named else 5)
        for i, (text, box) in enumerate(drawing["texts"]):
            assert box[2] > 0
            assert box[0] >= x - 1, (drawing["id"], text)
            assert box[0] + box[2] <= x + w + 1, (drawing["id"], text)
            assert box[1] >= y - 1, (drawing["id"], text)
            assert box[1] + box[3] <= y + h + 1, (drawing["id"], text)
            for other, taken in drawing["texts"][i + 1 :]:
                assert not overlap(box, taken), (drawing["id"], text, other)


def test_letters_of_figures_stay_readable_on_a_telephone(look, example_page):
    chrome = look(example_page.path, 400)
    smallest = chrome.execute_script(
        "return Math.min(...[...document.querySelectorAll('.drawing text')]"
        ".map((e) => e.getBoundingClientRect().height).filter((h) => h > 0))"
    )
    assert smallest >= 11


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_paper(look, example_page, scheme):
    chrome = look(example_page.path, scheme=scheme)
    low = chrome.execute_script(
        """
        const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
        const paper = (e) => {
          for (; e; e = e.parentElement) {
            const found = numbers(getComputedStyle(e).backgroundColor);
            if (found.length === 3) return found;
          }
          return [255, 255, 255];
        };
        const found = {};
        const kinds = "h1, h2, h3, h4, p, a, th, td, label, dt, dd, button, .rank, .score, pre, figcaption";
        for (const e of document.querySelectorAll(kinds)) {
          if (!e.getBoundingClientRect().width || e.disabled) continue;
          const [a, b] = [light(numbers(getComputedStyle(e).color)), light(paper(e))].sort((x, y) => y - x);
          const ratio = (a + 0.05) / (b + 0.05);
          if (ratio < 4.5) found[`${e.tagName}.${e.className}`] = ratio;
        }
        return found;
        """
    )
    assert low == {}


def test_the_explorer_filters_like_the_rows(look, example_page, drawn_experiment):
    chrome = look(example_page.path)
    for seed in drawn_experiment.seeds:
        select(chrome, "seed", str(seed.seed))
        for name, cut in CHOICES[seed.seed]:
            select(chrome, "method", name)
            select(chrome, "cut", str(cut))
            rows, dense = seed.methods[name], seed.methods["Dense-Only"].hit(cut)
            hit = rows.hit(cut)
            wanted = {
                "hit": hit,
                "miss": ~hit,
                "helped": hit & ~dense,
                "hurt": dense & ~hit,
                "all": hit | ~hit,
            }
            for outcome, mask in wanted.items():
                pick(chrome, "outcome", outcome)
                assert shown_count(chrome) == mask.sum(), (seed.seed, name, cut, outcome)
            for expansion, mask in {"yes": rows.expanded, "no": ~rows.expanded}.items():
                pick(chrome, "expansion", expansion)
                assert shown_count(chrome) == mask.sum()
                assert one(chrome, "#x-n-hit").text == str((mask & hit).sum())
            pick(chrome, "expansion", "any")
    select(chrome, "seed", "")
    assert shown_count(chrome) == 180
    no_complaints(chrome)


def test_the_explorer_finds_words_and_shows_a_question(look, example_page, drawn_experiment):
    chrome = look(example_page.path)
    seed = drawn_experiment.seeds[0]
    at = 7
    box = one(chrome, "#x-text")
    box.send_keys(f"{seed.query_ids[at]} {seed.targets[at]}")
    assert shown_count(chrome) == 1
    press(chrome, "#x-list button")
    detail = one(chrome, "#x-detail")
    heading = css(chrome, "#x-detail h3")[0].text
    assert heading == " ".join(seed.queries[at].split())
    assert "<b>&amp;" in heading  # as text, not as markup
    ranks = {
        row.find_element("css selector", "th").text: int(
            row.find_element("css selector", "td.n").get_attribute("data-rank")
        )
        for row in css(chrome, ".stands tbody tr:not(.group)")
    }
    assert {name: ranks[name] for name in seed.methods} == {
        name: int(m.rank[at]) for name, m in seed.methods.items()
    }
    assert sum(name.endswith((" dense", " bm25")) for name in ranks) == 8
    text = detail.text
    top1 = seed.methods["Selective-QE"].signals["top1"][at]
    assert f"top1\n{top1:.4f}" in text
    assert "[THOUGHT]" in text
    assert "</script><script>alert(1)</script>" in text  # of a trace, as text
    assert text.count("◆ target") == sum(rank > 0 for rank in ranks.values())
    for card, (name, rows) in zip(
        css(chrome, "#x-detail > .cards > .card"), seed.methods.items(), strict=True
    ):
        assert card.find_element("css selector", "h4").text == name
        ids = [item.text for item in card.find_elements("css selector", ".hits button")]
        assert tuple(ids) == rows.retrieved[at]
    assert chrome.execute_script("return location.hash") == f"#question=42/{seed.query_ids[at]}"
    box.clear()
    box.send_keys("no such words")
    assert one(chrome, "#x-count").text == "No question fits."
    no_complaints(chrome)


def test_an_answer_tells_its_lists_what_was_refused_and_what_failed(look, example_page):
    chrome = look(example_page.path, fragment="#question=42/q0002")
    card = next(card for card in css(chrome, ".card") if card.text.startswith("HyDE-Traces-Only"))
    assert "Refused: trace 2 (top1 0.41 < 0.5)" in card.text
    lists = card.find_element("css selector", "details")
    chrome.execute_script("arguments[0].open = true", lists)
    assert "question dense, trace 1 dense, trace 1 bm25, trace 2 dense, trace 2 bm25" in lists.text
    chrome = look(example_page.path, fragment="#question=42/q0001")
    card = next(card for card in css(chrome, ".card") if card.text.startswith("Always-Expand"))
    assert "traces: time-out" in card.text


def test_an_address_opens_its_question_and_a_broken_one_does_no_harm(look, example_page, drawn_experiment):
    seed = drawn_experiment.seeds[1]
    chrome = look(example_page.path, fragment=f"#question=43/{seed.query_ids[3]}")
    assert css(chrome, "#x-detail h3")[0].text == " ".join(seed.queries[3].split())
    for broken in ("#question=43/%E0%A4%A", "#question=99/q0001", "#question=43/none", "#tables"):
        chrome = look(example_page.path, fragment=broken)
        assert shown_count(chrome) == 60
        no_complaints(chrome)


def test_the_explorer_works_by_keyboard(look, example_page):
    from selenium.webdriver.common.keys import Keys

    chrome = look(example_page.path)

    def here():
        return chrome.execute_script("return document.activeElement.dataset.key")

    buttons = css(chrome, "#x-list button")
    keys = [button.get_attribute("data-key") for button in buttons]
    buttons[0].send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    chrome.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert here() in keys[1:4]
    chrome.switch_to.active_element.send_keys(Keys.END)
    assert here() == keys[-1]
    chrome.switch_to.active_element.send_keys(Keys.ENTER)
    assert css(chrome, "#x-list [aria-current=true]")[0].get_attribute("data-key") == keys[-1]
    assert len(keys) == 50
    press(chrome, "#x-after")
    assert len(css(chrome, "#x-list button")) == 10
    assert one(chrome, "#x-count").text == "51–60 of 60 questions"
    document = css(chrome, "#x-detail .hits button")[0]
    document.send_keys(Keys.ENTER)
    assert one(chrome, "dialog[open] h3").text == document.text
    assert "[ACTION]" in one(chrome, "dialog[open] pre").text
    chrome.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert css(chrome, "dialog[open]") == []
    no_complaints(chrome)


def test_rollouts_open_and_filter(look, example_page):
    chrome = look(example_page.path, 400)
    box = one(chrome, "#rollouts input")
    box.send_keys("number 7")
    assert [item.is_displayed() for item in css(chrome, ".rollout")].count(True) == 1
    assert one(chrome, "#rollouts output").text == "1 of 12"
    summary = next(item for item in css(chrome, ".rollout summary") if item.is_displayed())
    assert "Answer: Ada · score 1.00 · 14 tokens by the model · answer" in summary.text
    chrome.execute_script("arguments[0].click()", summary)
    assert "<search>first program</search><script>alert(1)</script>" in one(chrome, ".rollout[open]").text
    assert chrome.execute_script("return document.documentElement.scrollWidth") <= 400
    no_complaints(chrome)


def test_the_page_prints(look, example_page):
    chrome = look(example_page.path, media="print")
    for hidden in ("nav", ".controls", ".list", ".drawing.narrow"):
        assert not any(item.is_displayed() for item in css(chrome, hidden)), hidden
    assert all(item.is_displayed() for item in css(chrome, "figure, .drawing.wide svg"))
    assert chrome.execute_script(COLLISIONS) == []
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    sheet = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": False}
    printed = base64.b64decode(chrome.execute_cdp_cmd("Page.printToPDF", sheet)["data"])
    assert printed.startswith(b"%PDF-")
    assert (
        printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page>") + printed.count(b"/Type/Page ") >= 3
    )
