"use strict";
(function () {
  var data = JSON.parse(document.getElementById("explorer-data").textContent);
  var svg = document.getElementById("explorer-curves");
  var space = "http://www.w3.org/2000/svg";
  var box = { left: 70, right: 520, top: 12, bottom: 188 }, size = 13;
  var least = Math.log(data.epsilons[0]), most = Math.log(data.epsilons[data.epsilons.length - 1]);

  function chosen(name) {
    var slider = document.getElementById("explorer-" + name);
    return slider ? Number(slider.value) : 0;
  }
  function x(epsilon) {
    var part = most > least ? (Math.log(epsilon) - least) / (most - least) : 0.5;
    return box.left + part * (box.right - box.left);
  }
  function y(chance) { return box.bottom - chance * (box.bottom - box.top); }
  function draw(name, attributes, text) {
    var mark = document.createElementNS(space, name);
    Object.keys(attributes).forEach(function (key) { mark.setAttribute(key, attributes[key]); });
    if (text !== undefined) { mark.textContent = text; }
    svg.appendChild(mark);
  }
  function line(points, color, width) {
    draw("polyline", { points: points.join(" "), fill: "none", stroke: color, "stroke-width": width });
  }
  function frame() {
    svg.textContent = "";
    // A unit of the picture is a pixel of the screen: letters keep their size.
    var width = svg.getBoundingClientRect().width || 540;
    svg.setAttribute("viewBox", "0 0 " + width + " 230");
    box.left = 46;
    box.right = width - 14;
    [0, 0.25, 0.5, 0.75, 1].forEach(function (part) {
      draw("line", { x1: box.left, x2: box.right, y1: y(part), y2: y(part), stroke: "#d5dce1" });
      draw("text", { x: box.left - 6, y: y(part) + size / 3, "text-anchor": "end", "font-size": size }, 100 * part + "%");
    });
    data.epsilons.forEach(function (epsilon) {
      draw("text", { x: x(epsilon), y: box.bottom + 6 + size, "text-anchor": "middle", "font-size": size }, epsilon);
    });
    draw("text", { x: (box.left + box.right) / 2, y: box.bottom + 12 + 2.1 * size, "text-anchor": "middle", "font-size": size },
      "Epsilon");
  }
  // As what is recommended: of near ties what does best on unkind tables.
  function first(ranked) {
    var ties = ranked.filter(function (one) {
      return data.unkind[one.rival] !== undefined &&
        Math.round(100 * ranked[0].overlap) - Math.round(100 * one.overlap) <= Math.round(100 * data.close);
    });
    ties.sort(function (one, other) {
      return Math.round(100 * data.unkind[other.rival]) - Math.round(100 * data.unkind[one.rival]);
    });
    return ties[0] || ranked[0];
  }
  // Alike here: what does better at other epsilons.
  function elsewhere(figure) {
    return data.figures.reduce(function (sum, one) { return sum + (one.rival === figure.rival ? one.overlap : 0); }, 0);
  }
  function tables(right) {
    if (right === 0 || right === 1) { return right ? "all simulated tables" : "none of the simulated tables"; }
    return "about " + Math.min(Math.max(Math.round(100 * right), 1), 99) + " of 100 simulated tables";
  }
  function show() {
    var epsilon = data.epsilons[chosen("epsilon")], rows = data.rows[chosen("rows")], place = chosen("scenario");
    Object.keys(data.labels).forEach(function (name) {
      var label = data.labels[name][chosen(name)];
      document.getElementById("explorer-" + name + "-value").textContent = label;
      document.getElementById("explorer-" + name).setAttribute("aria-valuetext", label);
    });
    var here = data.figures.filter(function (one) { return one.n_rows === rows && one.place === place; });
    var now = here.filter(function (one) { return one.epsilon === epsilon && data.commands[one.rival]; });
    now.sort(function (one, other) {
      return Math.round(100 * other.overlap) - Math.round(100 * one.overlap) || elsewhere(other) - elsewhere(one);
    });
    frame();
    var best = first(now), names = {};
    here.forEach(function (one) { names[one.rival] = true; });
    Object.keys(names).sort(function (one) { return best && one === best.rival ? 1 : -1; }).forEach(function (name) {
      var own = here.filter(function (one) { return one.rival === name; });
      own.sort(function (one, other) { return one.epsilon - other.epsilon; });
      var isBest = best && name === best.rival;
      line(own.map(function (one) { return x(one.epsilon) + "," + y(one.right); }),
        isBest ? "#0b5c7a" : "#86abbc", isBest ? 2.5 : 1);
    });
    var answer = document.getElementById("explorer-answer"), command = document.getElementById("explorer-command");
    if (!best) {
      answer.textContent = "No selection was simulated here.";
      command.textContent = "";
      return;
    }
    draw("circle", { cx: x(epsilon), cy: y(best.right), r: 5, fill: "#0b5c7a" });
    answer.textContent = "Best here: " + best.rival + ". It selects exactly the right columns in " + tables(best.right) +
      " (two standard errors: " + Math.round(200 * best.error) + " in 100). The average overlap with the right columns is " +
      best.overlap.toFixed(2) + ".";
    command.textContent = data.commands[best.rival].split(data.mark).join(String(epsilon)).replace(/ --/g, " \\\n  --");
  }
  Object.keys(data.labels).forEach(function (name) {
    document.getElementById("explorer-" + name).addEventListener("input", show);
  });
  window.addEventListener("resize", show);
  document.getElementById("explore").parentNode.hidden = false;
  show();
})();
