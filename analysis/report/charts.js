// Figures are drawn when they scroll into view: a page may have dozens. They adapt to the page's width and colours.
"use strict";

const CHART_SETTINGS = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const NARROW = 560; // pixels: a narrower chart has no space for a legend next to it
const A_LINE = 20, A_LETTER = 6.5, A_SIGN = 46; // pixels of a legend's line, of a letter, and of the sign before a name
const drawn = new Set();
let onDark = {}; // colour → its replacement on a dark page

function drawCharts(charts, dark) {
  onDark = dark;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        const { data, layout } = charts[Number(target.dataset.chart)];
        plot(target, data, layout);
      }
    },
    { rootMargin: "600px" },
  );
  for (const place of document.querySelectorAll("[data-chart]")) {
    // Reserve the chart's height, so that the content below does not move when the chart is drawn.
    place.style.minHeight = `${charts[Number(place.dataset.chart)].layout.height}px`;
    seen.observe(place);
  }
  const again = () => drawn.forEach((place) => (place.isConnected ? draw(place) : drawn.delete(place)));
  DARK.addEventListener("change", again);
  let narrow = window.innerWidth < NARROW;
  window.addEventListener("resize", () => {
    if (narrow === window.innerWidth < NARROW) return;
    narrow = !narrow;
    again();
  });
}

// Draws a chart with its title above it, so that no legend or button covers the title.
function plot(place, data, layout) {
  const title = document.createElement("p");
  title.className = "chart-title";
  title.innerHTML = layout.title.text; // already escaped
  const chart = document.createElement("div");
  place.replaceChildren(title, chart);
  chart.given = { data, layout };
  drawn.add(chart);
  draw(chart);
}

function draw(chart) {
  const { data, layout } = chart.given;
  const narrow = chart.clientWidth < NARROW;
  const settings = { ...CHART_SETTINGS, displayModeBar: narrow ? false : "hover" };
  Plotly.react(chart, data.map(inColours), shaped(data, layout, narrow, chart.clientWidth), settings);
}

// Black and dark blue have replacements on a dark page; all other colours have enough contrast on both backgrounds.
function inColours(trace) {
  if (!DARK.matches) return trace;
  const seen = (colour) => onDark[colour] ?? colour;
  const parts = {};
  for (const part of ["line", "marker", "error_x", "error_y"])
    if (trace[part]) parts[part] = { ...trace[part], color: seen(trace[part].color) };
  return { ...trace, ...parts, ...(trace.fillcolor ? { fillcolor: seen(trace.fillcolor) } : {}) };
}

function shaped(data, layout, narrow, width) {
  const colours = getComputedStyle(document.documentElement);
  const [ink, line] = ["--ink", "--line"].map((name) => colours.getPropertyValue(name).trim());
  const axis = (of) => ({ ...of, automargin: true, gridcolor: line, zerolinecolor: line });
  const { title, ...rest } = layout;
  const found = {
    ...rest,
    margin: { ...layout.margin, t: layout.legend?.orientation ? 45 : 20 },
    font: { ...layout.font, color: ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
  };
  if (!narrow) return found;
  const words = wrapped(layout.xaxis.title.text);
  const names = layout.showlegend === false ? [] : data.filter((trace) => trace.showlegend !== false && trace.name);
  const across = names.length > 1 ? names.reduce((sum, trace) => sum + A_SIGN + A_LETTER * trace.name.length, 0) : 0;
  const legend = A_LINE * Math.ceil(across / width);
  return {
    ...found,
    height: layout.height + legend,
    xaxis: { ...found.xaxis, title: { ...layout.xaxis.title, text: words.join("<br>") } },
    margin: { ...found.margin, l: 45, t: 10, b: 35 + 15 * words.length + legend },
    legend: { ...layout.legend, orientation: "h", xref: "container", x: 0, xanchor: "left", yref: "container", y: 0, yanchor: "bottom" },
  };
}

// The title of an axis, split into lines that fit next to the names of categories.
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line && line.length + word.length > 20) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
