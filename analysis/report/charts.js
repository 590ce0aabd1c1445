// Figures are drawn when they come into view: a page may hold dozens.
"use strict";

const CHART_SETTINGS = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

function drawCharts(charts) {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        const { data, layout } = charts[Number(target.dataset.chart)];
        Plotly.newPlot(target, data, layout, CHART_SETTINGS);
      }
    },
    { rootMargin: "600px" },
  );
  for (const place of document.querySelectorAll("[data-chart]")) {
    // The room that it will take: what stands below must not move away under the reader's mouse.
    place.style.minHeight = `${charts[Number(place.dataset.chart)].layout.height}px`;
    seen.observe(place);
  }
}
