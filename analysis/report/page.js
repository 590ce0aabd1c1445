// Sets up the page: sortable tables, figures, and the table of all runs.
"use strict";

const HINTS = { info: "_START_ to _END_ of _TOTAL_", infoFiltered: "(of _MAX_)", search: "Search:", lengthMenu: "_MENU_ a page" };

function sortTables(DataTable) {
  for (const table of document.querySelectorAll("table.sortable")) {
    const long = table.tBodies[0].rows.length > 50;
    new DataTable(table, { order: [], paging: long, pageLength: 50, info: long, scrollX: true, language: HINTS });
  }
}

// A column of the table of runs. Its values are escaped once, not cell by cell: a store may have ten thousand runs.
function columnOf({ title, values, places }) {
  const numeric = values.every((value) => value === null || typeof value === "number");
  const shown = values.map((value) => (value === null ? "" : numeric ? value : escaped(inWords(value))));
  const display = (value) => (value === "" || places === undefined ? value : inPlaces(value, places));
  return {
    shown,
    settings: {
      title: escaped(title),
      type: numeric ? "num" : "string",
      className: numeric ? "dt-right" : "dt-left",
      render: numeric ? { display } : undefined,
    },
  };
}

function tableOfRuns(DataTable, data) {
  const ids = data.runs.columns[0];
  const columns = data.runs.columns.map(columnOf);
  const codes = data.runs.columns.map((column) => column.codes);
  const table = new DataTable("#all-runs", {
    data: ids.codes.map((_, at) => [...columns.map(({ shown }, column) => shown[codes[column][at]]), at]),
    columns: [...columns.map(({ settings }) => settings), { visible: false, searchable: false, title: "" }],
    order: [],
    pageLength: 15,
    lengthMenu: [15, 50, 200],
    scrollX: true,
    language: HINTS,
    columnControl: [{ target: 0, content: ["order"] }, { target: 1, content: ["search"] }],
    ordering: { indicators: false },
  });
  table.on("click", "tbody tr", (event) => {
    const line = table.row(event.currentTarget).data();
    if (line) location.hash = `run=${valueOf(ids, line.at(-1))}`;
  });
  document.getElementById("save-runs").addEventListener("click", () => saveRuns(table, data.runs.columns));
  return table;
}

// Saves the filtered lines as CSV, in the displayed order, with unrounded values.
function saveRuns(table, columns) {
  const inCsv = (value) => {
    let words = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    // A spreadsheet evaluates text that begins like a formula (see `guarded` in analysis/tables/render.py).
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value))) words = `'${words}`;
    return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
  };
  const shown = table.rows({ search: "applied" }).data().toArray().map((line) => line.at(-1));
  const lines = [columns.map(({ title }) => title), ...shown.map((at) => columns.map((column) => valueOf(column, at)))];
  const file = new Blob([lines.map((line) => line.map(inCsv).join(",")).join("\n"), "\n"], { type: "text/csv" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = "runs.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

// Shows the run in the page's address: #run=<id>.
function followAddress(data) {
  const ids = data.runs.columns[0];
  const follow = () => {
    const [, id] = location.hash.match(/^#run=(.+)$/) || [];
    const at = ids.codes.findIndex((code) => ids.values[code] === id);
    if (id && at >= 0) showRun(at, data);
  };
  const dialog = document.getElementById("run");
  dialog.addEventListener("close", () => history.replaceState(null, "", "#runs"));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.getElementById("run-copy").addEventListener("click", () =>
    navigator.clipboard?.writeText(document.getElementById("run-command").textContent),
  );
  window.addEventListener("hashchange", follow);
  follow();
}

// A link into a closed section opens the section.
function openSections() {
  const follow = () => {
    const target = /^#(section|figure)-\d+$/.test(location.hash) && document.querySelector(location.hash);
    const part = target && target.closest("details");
    if (!part || part.open) return;
    part.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
}

// Waits until the browser has painted, before long work continues.
function painted() {
  return new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
}

// The library of tables has separate colours for a page with the class "dark".
function followColours() {
  const follow = () => document.documentElement.classList.toggle("dark", DARK.matches);
  DARK.addEventListener("change", follow);
  follow();
}

// During a sweep the page is made again and again; it reloads unless the user has opened a run.
function loadAgain(seconds) {
  setInterval(() => document.getElementById("run").open || location.reload(), 1000 * seconds);
}

(async () => {
  try {
    followColours();
    const [data, DataTable] = await Promise.all([unpacked("data"), tablesLibrary()]);
    openSections();
    drawCharts(data.charts, data.style.dark);
    await painted();
    sortTables(DataTable);
    await painted();
    followTogether(tableOfRuns(DataTable, data), data);
    followAddress(data);
    if (data.again) loadAgain(data.again);
    document.body.dataset.ready = "yes";
  } catch (error) {
    const trouble = document.getElementById("trouble");
    trouble.hidden = false;
    trouble.textContent = `This browser could not show all of the page; a newer one may (${error}).`;
    throw error;
  }
})();
