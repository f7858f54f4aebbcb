/* Bring the page to life; a chart that fails must not take the others with it. */

for (const figure of document.querySelectorAll("figure.chart, figure.frames")) {
  try {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const Kind = figure.classList.contains("chart") ? Chart : Frames;
    new Kind(figure, data).draw();
  } catch (error) {
    console.error(error);
    const words = make("p", { className: "notice", textContent: `Not drawn: ${error}` });
    figure.querySelector(".live").replaceChildren(words);
  }
}
