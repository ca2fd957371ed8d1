// Starts what the page holds: boxes that filter what stands below them, and the explorer.

for (const group of document.querySelectorAll(".filtered")) {
  const items = [...group.querySelectorAll("details")].map((element) => [element, element.textContent.toLowerCase()]);
  const input = group.querySelector("input");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [element, text] of items) {
      element.hidden = !words.every((word) => text.includes(word));
      count += !element.hidden;
    }
    group.querySelector("output").textContent = `${count} of ${items.length}`;
  });
}
if (document.getElementById("explorer")) startExplorer();
