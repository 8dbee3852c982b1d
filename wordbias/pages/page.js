// Sorting by a column; without it the page says the same.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  if (body.rows.length < 3) continue;
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const found = text.replace(/−/g, "-").replace(/,/g, "").match(/^-?[0-9.]+(e[-+]?[0-9]+)?/);
    return found ? Number(found[0]) : text;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.textContent === "picture") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort(
        (a, b) => compare(key(a, column), key(b, column)) * (down ? -1 : 1)
      );
      body.append(...rows);
    });
  });
}
