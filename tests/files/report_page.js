// Driven by report_test.py inside of a report page: what a person does, as events of the page; the answer is the text
// of an element #selftest.
(async () => {
  const faults = window.pageFaults, say = text => faults.push(text);
  const frame = () => new Promise(done => setTimeout(done, 30));
  const check = (holds, text) => { if (!holds) say(text); };
  const $ = id => document.getElementById(id);
  const press = target => target.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  try {
    while (!document.documentElement.dataset.ready) await frame();
    const readyMs = performance.now();
    const boxes = () => document.querySelectorAll("#graph .node, #graph .folded").length;
    check(boxes() > 0, "the graph is empty");
    // The slider: every step has a name, and those that change something show it.
    const names = [];
    let marked = 0;
    for (let i = 0; i <= Number($("step").max); ++i) {
      $("step").value = i;
      $("step").dispatchEvent(new Event("input", {bubbles: true}));
      names.push($("step-name").textContent);
      marked += document.querySelectorAll("#graph .added, #graph .removed, #graph .changed").length;
    }
    check(names.length === data.passes.length && new Set(names).size === names.length, `the slider shows ${names.join()}`);
    check(names.every((name, i) => name === `${i} ${data.passes[i].name}`), `names of steps: ${names.join()}`);
    check(marked > 0, "no step marks a change");
    press($("previous"));
    check($("step-name").textContent !== names.at(-1), "the button for the change before does not move");
    press($("side-before"));
    check($("side-before").getAttribute("aria-pressed") === "true", "no side before");
    press($("side-after"));
    // Fold and unfold.
    press($("fold"));
    const folded = boxes();
    press($("unfold"));
    const unfolded = boxes();
    check(unfolded >= folded, `folded ${folded} boxes, unfolded ${unfolded}`);
    check(document.querySelectorAll("#graph .folded").length === 0, "a group is still folded");
    const open = document.querySelector("#graph .open");
    if (open) {
      press(open);
      check(boxes() < unfolded, "a click on a group does not fold it");
    }
    // Search for an operator of the graph.
    const wanted = data.graph.nodes.find(node => !node.kind && !node.manages_memory).op;
    $("step").value = 0;
    $("step").dispatchEvent(new Event("input", {bubbles: true}));
    $("search").value = wanted;
    $("search").dispatchEvent(new Event("input", {bubbles: true}));
    check(parseInt($("found").textContent) > 0, `${wanted} is not found: ${$("found").textContent}`);
    $("search").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
    check(document.querySelector("#graph .selected"), "the first found is not selected");
    // Pan and zoom.
    const before = $("graph").getAttribute("viewBox");
    $("graph").dispatchEvent(new WheelEvent("wheel", {deltaY: -300, clientX: 400, clientY: 400, bubbles: true, cancelable: true}));
    check($("graph").getAttribute("viewBox") !== before, "the wheel does not zoom");
    // Kernels are drawn when they are opened.
    for (const kernel of document.querySelectorAll("#kernels details")) {
      kernel.open = true;
      await frame();
      check(kernel.querySelector("pre"), `${kernel.id} is empty`);
      break;
    }
    press($("theme"));
    check(document.documentElement.dataset.theme === "light", "no light theme");
    press($("theme"));
    check(document.documentElement.dataset.theme === "dark", "no dark theme");
    check(document.scripts.length === window.ownScripts, `${document.scripts.length} scripts: a name of the model made one`);
    check(!document.querySelector("main img, main script, main iframe"), "a name of the model made an element");
    const made = document.createElement("pre");
    made.id = "selftest";
    made.textContent = JSON.stringify({faults, readyMs, title: document.title});
    document.body.append(made);
  } catch (fault) {
    const made = document.createElement("pre");
    made.id = "selftest";
    made.textContent = JSON.stringify({faults: [...faults, String(fault.stack)]});
    document.body.append(made);
  }
})();
