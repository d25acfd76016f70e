/* search.js - finds the parts of pages that have all words; headings count for more. */
"use strict";
const input = document.getElementById("search");
const list = document.getElementById("found");
const MOST = 20;

function score(entry, words) {
    const [title, heading, , text] = entry.map((part) => part.toLowerCase());
    let sum = 0;
    for (const word of words) {
        const here = (heading.includes(word) ? 10 : 0) + (title.includes(word) ? 5 : 0) +
            Math.min(text.split(word).length - 1, 4);
        if (here === 0)
            return 0;
        sum += here;
    }
    return sum;
}

function excerpt(text, word) {
    const at = Math.max(text.toLowerCase().indexOf(word) - 60, 0);
    return (at > 0 ? "..." : "") + text.slice(at, at + 160);
}

function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
    const found = words.length === 0 ? [] : ENTRIES.map((entry) => [score(entry, words), entry])
        .filter(([points]) => points > 0).sort((a, b) => b[0] - a[0]).slice(0, MOST);
    list.replaceChildren(...found.map(([, [title, heading, address, text]]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = `${input.dataset.top}/${address}`;
        link.textContent = heading === title || heading === "" ? title : `${title}: ${heading}`;
        item.append(link, document.createElement("br"), excerpt(text, words[0]));
        return item;
    }));
    list.hidden = words.length === 0;
    if (words.length > 0 && found.length === 0)
        list.textContent = "nothing found";
}

input.addEventListener("input", show);
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
        event.preventDefault();
        input.focus();
    } else if (event.key === "Escape") {
        input.value = "";
        show();
    }
});
