// Optional: hides rows of the claims table by paper and verdict. Without scripts every row is shown.
(function () {
  var bar = document.querySelector(".filters");
  if (!bar) return;
  var paper = document.getElementById("paper");
  var verdict = document.getElementById("verdict");
  var rows = document.querySelectorAll("table.claims tbody tr");
  function apply() {
    var shown = 0;
    rows.forEach(function (row) {
      var fits = (!paper.value || row.dataset.paper === paper.value) &&
                 (!verdict.value || row.dataset.verdict === verdict.value);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    document.getElementById("shown").textContent = shown + " of " + rows.length + " claims";
  }
  paper.addEventListener("change", apply);
  verdict.addEventListener("change", apply);
  bar.hidden = false;
  apply();
})();
