// Reads the page's embedded data: compressed JSON, and the library of tables as a module.
"use strict";

async function unpacked(id) {
  const text = document.getElementById(id).textContent;
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function tablesLibrary() {
  const source = document.getElementById("tables-library").textContent;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const library = await import(address);
  URL.revokeObjectURL(address);
  return library.default;
}

// The value of line `at` in a column; the column stores each different value once.
function valueOf(column, at) {
  return column.values[column.codes[at]];
}

function escaped(words) {
  const signs = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(words).replace(/[&<>"']/g, (sign) => signs[sign]);
}

function inPlaces(number, places) {
  return number.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
}
