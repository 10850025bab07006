"use strict";
// Draws the report's plots in the page's colours, as wide as they may be, again when either changes.
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const light = ["#0b6bcb", "#c2410c", "#14803c", "#7c3aed", "#b80d57", "#0e7490", "#8a5a00", "#4b5563"];
  const dark = ["#62aaf5", "#f59a5b", "#52c07b", "#b395f7", "#f178ab", "#4cc5dd", "#f0c469", "#a8b3c2"];
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const drawn = [];

  const draw = () => {
    drawn.splice(0).forEach((plot) => plot.destroy());
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim();
    const line = style.getPropertyValue("--line").trim();
    const colours = scheme.matches ? dark : light;
    plots.forEach((plot, n) => {
      const place = document.getElementById(`plot${n}`);
      const few = plot.x.length <= 20;
      const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
      const options = {
        width: place.clientWidth,
        height: Math.round(Math.min(340, Math.max(220, place.clientWidth * 0.45))),
        scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
        axes: [
          { ...axis, label: plot.x_label, labelFont: axis.font, labelSize: 20, splits: few ? () => plot.x : undefined },
          { ...axis, size: 72, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString("en")) },
        ],
        series: [
          { label: plot.x_label },
          ...plot.series.map((series, i) => ({
            label: series.name,
            stroke: colours[i % colours.length],
            dash: i < colours.length ? undefined : [6, 4],
            width: 1.6,
            points: { show: few, size: 6 },
            value: (_, value) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 2 })),
          })),
        ],
      };
      drawn.push(new uPlot(options, [plot.x, ...plot.series.map((series) => series.values)], place));
    });
  };

  draw();
  scheme.addEventListener("change", draw);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      draw();
    }
  });
})();
