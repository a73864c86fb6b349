// The page: one section for each subject, made from the data that stands in it.
const data = JSON.parse(document.getElementById("data").textContent);
const categories = JSON.parse(document.getElementById("categories").textContent);

function bytesText(count) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (count < 1024) return unit === "B" ? `${count} B` : `${count.toFixed(1)} ${unit}`;
    count /= 1024;
  }
  return `${count.toFixed(1)} GiB`;
}
function timeText(ns) {
  for (const unit of ["ns", "us", "ms"]) {
    if (ns < 1000) return `${Number(ns.toPrecision(3))} ${unit}`;
    ns /= 1000;
  }
  return `${Number(ns.toPrecision(3))} s`;
}
// "110 M", below 10,000 as it is.
function amountText(count) {
  if (count < 10000) return String(count);
  const units = ["k", "M", "G", "T"];
  let unit = 0;
  for (count /= 1000; count >= 999.5 && unit < 3; count /= 1000) ++unit;
  return `${count.toPrecision(3)} ${units[unit]}`;
}
// "64*floordiv(n + 15, 16)" → "64·⌈n/16⌉"; floordiv(a + k-1, k) is how a dim that is rounded up is kept.
function formulaText(formula) {
  let text = String(formula), before = "";
  while (text !== before) {
    before = text;
    text = text.replace(/(floordiv|ceildiv)\(([^(),]*), ([^(),]*)\)/, (_, kind, above, below) => {
      const rest = ` + ${below - 1}`, isUp = kind === "ceildiv" || (below > 1 && above.endsWith(rest));
      const top = kind === "floordiv" && isUp ? above.slice(0, -rest.length) : above;
      const shown = `${top.includes(" ") ? `{${top}}` : top}/${below}`;
      return isUp ? `⌈${shown}⌉` : `⌊${shown}⌋`;
    });
  }
  return text.replaceAll("{", "(").replaceAll("}", ")").replace(/\b(\w+)\*\1\b(?!\*)/g, "$1²").replaceAll("*", "·")
    .replace(/\b\d{5,}\b/g, digits => amountText(Number(digits)));
}
const countText = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const typeText = port => port.type ?? `${port.dtype} [${port.shape.join(", ")}]`;
const sizesText = dims => Object.entries(dims).map(([name, size]) => `${name}=${size}`).join(", ");
const code = text => element("code", {}, String(text));
const nodeOfPlace = place => place.split(": node ").at(-1);

// head: [title, "number" or ""]; a cell is text or an element.
function table(head, rows) {
  const cell = (tag, content, i) => element(tag, {class: head[i][1] || null}, content === null ? "" : content);
  return element("div", {class: "scroll"}, element("table", {},
    element("thead", {}, element("tr", {}, head.map(([title], i) => cell("th", title, i)))),
    element("tbody", {}, rows.map(row => element("tr", {}, row.map((content, i) => cell("td", content, i)))))));
}
const cards = rows => element("div", {class: "cards"}, rows.filter(Boolean).map(([value, what]) =>
  element("div", {class: "card"}, element("b", {}, String(value)), element("span", {}, what))));
const refusalText = part => element("p", {class: "quiet"}, `Not there: ${part.refused}`,
  (part.notes ?? []).map(note => element("span", {}, ` (${note})`)));
const section = (id, title, ...children) => {
  document.getElementById("sections").append(element("a", {href: "#" + id}, title));
  return element("section", {id}, element("h2", {}, title), ...children);
};
const categoryOfKernel = name => (categories.words.find(([word]) => name.toLowerCase().includes(word)) ?? ["", "other"])[1];
const legend = names => element("div", {class: "legend"}, names.map(name =>
  element("span", {}, element("i", {style: `background:var(--category-${name})`}), categories.titles[name])));

const classOfValue = new Map();  // of the operation that makes it first

function overview() {
  const model = data.model, plan = data.plan, prediction = data.prediction, run = data.run;
  const isThere = part => part && !part.refused;
  const failing = isThere(prediction) ? prediction.checks.filter(check => check.fails) : [];
  const changed = data.passes.filter(pass => pass.changed);
  const problems = [...model.warnings.map(one => `${one.id}: ${one.message}${one.place ? ` at ${one.place}` : ""}`),
                    ...data.passes.flatMap(pass => (pass.problems ?? []).map(one => `${pass.name}: ${one.message}`)),
                    ...failing.map(check => `fails at these sizes: ${check.text}`)];
  return section("overview", "Overview",
    cards([[data.symbols.length ? data.symbols.join(", ") : "nothing", "sizes that vary"],
           [model.ops_count, "operations as imported"],
           [amountText(model.parameters_count), `parameters in ${countText(model.weights_count, "constant")}, ${bytesText(model.weights_bytes)}`],
           isThere(plan) && plan.predicted_peak_bytes !== null && [bytesText(plan.predicted_peak_bytes), `predicted peak, ${sizesText(plan.dims)}`],
           isThere(run) && [bytesText(run.peak_bytes), `measured peak, ${sizesText(run.dims)}`],
           isThere(run) && [timeText(run.runs[0].ns), `one run, ${sizesText(run.dims)}`],
           isThere(prediction) && !prediction.refused && [timeText(prediction.time_ns), "predicted time"],
           [data.checks.length, "run-time checks"],
           [data.kernel_texts.length, "generated kernels"]]),
    element("h3", {}, "Inputs and outputs"),
    table([["", ""], ["name", ""], ["type", ""]],
          [...model.inputs.map(port => ["input", code(port.name), typeText(port)]),
           ...model.outputs.map(port => ["output", code(port.name), typeText(port)])]),
    element("h3", {}, "What varies, and what it means"),
    data.dims.length ? table([["dim", ""], ["from", "number"], ["to", "number"], ["where it comes from", ""], ["used in", ""]],
      data.dims.filter(dim => data.symbols.includes(dim.symbol) || data.symbols.length === 0).map(dim =>
        [code(dim.symbol), dim.low, dim.high ?? "any", dim.origin, countText(dim.uses_count, "axis").replace("axiss", "axes")]))
      : element("p", {}, "No size: all shapes are known before a run."),
    model.flops ? [element("h3", {}, "Arithmetic of a run as a formula of the dims"), element("pre", {class: "wrapped", title: model.flops}, formulaText(model.flops)),
                   element("p", {class: "quiet"}, "floating-point operations of products and convolutions, two for each multiply-add")] : "",
    isThere(plan) ? [element("h3", {}, "Peak memory as a formula of the dims"), element("pre", {class: "wrapped", title: String(plan.peak)}, formulaText(plan.peak)),
                     element("p", {class: "quiet"}, `bytes of the arena and of planned buffers; inputs aside, and ${bytesText(plan.constants_bytes)} of constants`)] : refusalText(plan),
    element("h3", {}, "Run-time checks"),
    data.checks.length ? element("ul", {}, data.checks.map(check => element("li", {}, check)))
                       : element("p", {}, "None: the compiler proved all that the operators demand of the sizes."),
    element("h3", {}, "Problems"),
    problems.length ? element("ul", {}, problems.map(text => element("li", {class: "bright"}, text))) : element("p", {}, "None."),
    element("h3", {}, "What the compiler did"),
    element("p", {}, `${countText(changed.length, "step")} of ${data.passes.length} changed the graph: ` +
      changed.map(pass => `${pass.name} (${pass.ops_before_count} → ${pass.ops_count})`).join(", ") + ". "),
    data.padding && !data.padding.refused
      ? element("details", {}, element("summary", {}, `Padding: ${data.padding.answer}`), element("ul", {}, data.padding.lines.map(line => element("li", {}, line))))
      : null);
}

function passesSection() {
  return section("passes", "Passes",
    table([["#", "number"], ["pass", ""], ["time", "number"], ["operations", "number"], ["", "number"], ["what it did", ""]],
      data.passes.map((pass, i) => [i, element("span", {title: pass.summary}, pass.changed ? element("b", {}, pass.name) : pass.name), timeText(pass.time_ns), pass.ops_count,
        pass.changed ? (pass.ops_count - pass.ops_before_count > 0 ? "+" : "") + (pass.ops_count - pass.ops_before_count) : "",
        [[pass.summary, ...Object.entries(pass.counters).filter(([, count]) => count).map(([name, count]) => `${name.replaceAll("_", " ")}: ${count}`)].filter(Boolean).join("; "),
         pass.remarks.length ? element("details", {}, element("summary", {}, countText(pass.remarks.length, "remark")),
                                       element("ul", {}, pass.remarks.map(remark => element("li", {}, remark)))) : ""]])));
}

function graphSection() {
  const svg = element("svg", {}), details = element("div", {class: "side"});
  svg.id = "graph";
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "graph of the model");
  const typeOf = new Map();
  const showNode = record => {
    if (!record) return;
    typeOf.clear();
    for (const one of picture.seen.records) for (const [name, type] of one.outputs ?? []) typeOf.set(name, type);
    const kernels = data.kernel_texts.flatMap((kernel, i) =>
      (kernel.places ?? []).some(place => record.place && place.endsWith(record.place)) ? [i] : []);
    const rows = [["operator", record.op], ["value", record.name], ["place", record.place], ["file's operator", record.source_op], ["device", record.device],
      ...(record.attributes ?? []).map(([name, value]) => [name, value]),
      ...(record.inputs ?? []).map(([name], i) => [`input ${i}`, `${name}: ${typeOf.get(name) ?? ""}`]),
      ...(record.outputs ?? []).map(([name, type], i) => [`output ${i}`, `${name}: ${type}`])].filter(([, value]) => value);
    details.replaceChildren(element("h3", {}, record.label ?? record.op),
      element("table", {}, element("tbody", {}, rows.map(([name, value]) => element("tr", {}, element("td", {class: "quiet"}, name), element("td", {}, String(value)))))),
      kernels.length ? element("p", {}, "computed by ", kernels.map(i => element("a", {href: "#kernel-" + i}, `${data.kernels.kernels?.[i]?.name ?? i} `))) : "",
      record.text ? element("pre", {class: "wrapped"}, record.text) : "",
      element("button", {type: "button", onclick: showChanges}, "changes of this pass"));
  };
  const picture = new GraphPicture(data.graph, categories, svg, showNode);
  // What is fused later keeps the class of the operation that it was.
  for (const step of picture.steps)
    for (const record of step.records)
      for (const [value] of record.outputs ?? []) if (!classOfValue.has(value)) classOfValue.set(value, record.class);
  function showChanges() {
    const step = picture.steps[picture.step], before = picture.steps[picture.step - 1] ?? {records: []};
    const texts = (records, id) => records.find(record => record.id === id)?.text ?? "";
    const line = (kind, sign, text, node) => element("button", {type: "button", class: `change ${kind}-text`, onclick: () => {
      if (node === undefined) return;
      const side = sign === "-" ? "before" : "after";
      if (picture.side !== side) setSide(side);
      picture.goToNode(node);
    }}, `${sign} ${text}`);
    const changes = step.changes.filter(change => !onlyTypes(change)), typed = step.changes.length - changes.length;
    const lines = changes.slice(0, 400).flatMap(change => {
      const old = change.node === undefined ? change.before : texts(before.records, change.node);
      const now = change.node === undefined ? change.after : texts(step.records, change.node);
      return [change.kind !== "added" && old && line(change.kind, "-", old, change.node), change.kind !== "removed" && now && line(change.kind, "+", now, change.node)].filter(Boolean);
    });
    details.replaceChildren(element("h3", {}, `Changes of ${step.name}`),
      element("p", {class: "quiet"}, `${step.added_count} added, ${step.removed_count} removed, ${step.changed_count - typed} changed, ${typed ? `${countText(typed, "type")} changed, ` : ""}${step.unchanged_count} unchanged`),
      ...lines, changes.length > 400 ? element("p", {class: "quiet"}, `and ${changes.length - 400} more`) : "");
  }
  const last = picture.steps.length - 1;
  const slider = element("input", {type: "range", id: "step", min: 0, max: last, value: picture.step, "aria-label": "pass",
    oninput: () => move(Number(slider.value))});
  const name = element("b", {id: "step-name"});
  const sideButtons = ["before", "after"].map(side => element("button", {type: "button", id: "side-" + side, onclick: () => setSide(side)}, side));
  const status = element("span", {class: "quiet", id: "found"});
  const search = element("input", {type: "search", id: "search", placeholder: "find operations", "aria-label": "find operations"});
  let found = [], at = -1;
  function refresh() {
    const pass = data.passes[picture.step];
    slider.value = picture.step;
    name.textContent = `${picture.step} ${picture.steps[picture.step].name}`;
    name.title = pass?.summary ?? "";
    name.className = pass?.changed ? "" : "quiet";
    sideButtons.forEach(button => button.setAttribute("aria-pressed", button.id === "side-" + picture.side));
    sideButtons[0].disabled = picture.step === 0;
  }
  function move(step, keepView = true) {
    picture.goTo(step, step === 0 ? "after" : picture.side);
    if (!keepView) picture.begin();
    if (search.value) find();
    refresh();
    showChanges();
  }
  function setSide(side) { picture.goTo(picture.step, side); refresh(); }
  function find() {
    found = picture.find(search.value);
    at = -1;
    status.textContent = search.value ? `${countText(found.length, "operation")}; Enter: the next` : "";
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", event => {
    if (event.key !== "Enter" || !found.length) return;
    at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    picture.goToNode(found[at]);
    status.textContent = `${at + 1} of ${countText(found.length, "operation")}`;
  });
  const jump = by => {
    for (let i = picture.step + by; i >= 0 && i <= last; i += by) if (data.passes[i]?.changed) return move(i);
  };
  const button = (text, id, action) => element("button", {type: "button", id, onclick: action}, text);
  const check = (text, key) => element("label", {}, element("input", {type: "checkbox", id: "show-" + key, onchange: event => {
    picture.shows[key] = event.target.checked;
    picture.draw();
  }}), " " + text);
  requestAnimationFrame(() => { picture.draw(); picture.begin(); refresh(); showChanges(); document.documentElement.dataset.ready = "yes"; });
  addEventListener("beforeprint", () => picture.fit());
  return section("graph-section", "Graph",
    element("div", {class: "tools"}, button("◂ change", "previous", () => jump(-1)), slider, button("change ▸", "next", () => jump(1)), name, sideButtons,
      search, status),
    element("div", {class: "tools"}, button("fold all", "fold", () => picture.foldAll(false)), button("unfold all", "unfold", () => picture.foldAll(true)),
      button("whole graph", "fit", () => picture.fit()), check("constants", "constants"), check("memory operations", "memory"),
      element("span", {class: "quiet"}, "wheel: zoom, drag: move, click a box: details, or unfold")),
    element("div", {class: "split"}, svg, details),
    legend(Object.keys(categories.titles)));
}

function dimsSection() {
  const whole = why => why.refused ? refusalText(why) : [
    why.lines.map(line => element("p", {}, line)),
    element("ol", {class: "why"}, why.tree.map(step => element("li", {style: `padding-left:${18 * step.depth}px`}, step.text,
      step.folded.length ? element("details", {}, element("summary", {class: "quiet"}, countText(step.folded.length, "step")), element("ul", {}, step.folded.map(text => element("li", {}, text)))) : ""))),
    why.known.length ? element("p", {class: "quiet"}, `known: ${why.known.join("; ")}`) : "",
    why.checks.length ? element("p", {}, `checked at run time: ${why.checks.join("; ")}`) : ""];
  return section("dims", "Dims",
    data.no_dims ? refusalText(data.no_dims) : "",
    table([["dim", ""], ["from", "number"], ["to", "number"], ["multiple of", "number"], ["origin", ""], ["constraints", ""], ["used in", ""]],
      data.dims.map(dim => [code(dim.symbol), dim.low, dim.high ?? "", dim.multiple > 1 ? dim.multiple : "", dim.origin, dim.facts.join("; "),
        dim.uses.join(", ") + (dim.uses_count > dim.uses.length ? `, … (${dim.uses_count})` : "")])),
    data.why.length ? element("h3", {}, "Why each is dynamic") : "",
    data.why.map(why => element("details", {open: data.why.length <= 6}, element("summary", {}, code(why.about), why.answer ? ` = ${why.answer}` : ""), whole(why))),
    data.questions_count > data.why.length ? element("p", {class: "quiet"}, `and ${data.questions_count - data.why.length} more: dynrepl inspect --why`) : "");
}

function memoryPicture(buffers) {
  const categoryOf = name => categories.classes[classOfValue.get(name)] ?? categoryOfKernel(name.split("/").at(-1));
  const placed = buffers.filter(one => one.offset_bytes !== null && one.size_bytes);
  if (!placed.length) return null;
  const first = Math.min(...placed.map(one => one.begin)), width = Math.max(1, Math.max(...placed.map(one => one.end)) - first + 1);
  const height = Math.max(...placed.map(one => one.offset_bytes + one.size_bytes));
  return element("figure", {}, element("svg", {class: "memory", viewBox: "0 0 1000 260", width: "100%", role: "img"},
    placed.map((one, i) => element("rect", {x: 1000 * (one.begin - first) / width, y: 260 * one.offset_bytes / height,
      width: Math.max(1, 1000 * (one.end - one.begin + 1) / width), height: Math.max(.5, 260 * one.size_bytes / height), fill: `color-mix(in srgb, var(--category-${categoryOf(one.name)}) ${50 + 12 * (i % 3)}%, var(--base))`},
      element("title", {}, `${one.name}: ${one.dtype} [${one.shape.join(", ")}], ${bytesText(one.size_bytes)}`)))),
    element("figcaption", {}, `to the right: ${countText(width, "operation")} in execution order; downwards: ${bytesText(height)} of addresses`),
    legend([...new Set(placed.map(one => categoryOf(one.name)))]));
}

function plot(points, title, text) {
  const shown = points.filter(point => point[1] !== null);
  if (shown.length < 2) return null;
  const W = 420, H = 200, L = 66, B = 24, lastX = shown.at(-1)[0], firstX = shown[0][0], most = Math.max(...shown.map(point => point[1])) || 1;
  const x = value => L + (W - L - 10) * (value - firstX) / Math.max(1, lastX - firstX), y = value => H - B - (H - B - 12) * value / most;
  const ticks = [0, .5, 1];
  return element("figure", {}, element("svg", {class: "plot", viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img"},
    ticks.map(part => [element("line", {class: "axis", x1: L, x2: W - 10, y1: y(most * part), y2: y(most * part)}),
                       element("text", {x: L - 6, y: y(most * part) + 4, "text-anchor": "end"}, text(most * part))]),
    ticks.map(part => element("text", {x: x(firstX + (lastX - firstX) * part), y: H - 6, "text-anchor": ["start", "middle", "end"][part * 2]}, Math.round(firstX + (lastX - firstX) * part))),
    element("path", {class: "line", d: "M" + shown.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}),
    shown.map(([a, b]) => element("circle", {cx: x(a), cy: y(b), r: 2.5}, element("title", {}, `${a}: ${text(b)}`)))),
    element("figcaption", {}, title));
}

function memorySection() {
  const plan = data.plan;
  const sweeps = data.sweeps.map(sweep => {
    if (sweep.refused) return element("div", {}, code(sweep.symbol), refusalText(sweep));
    const at = sizesText(sweep.others), title = `over ${sweep.symbol}${at ? `, with ${at}` : ""}`;
    return element("div", {class: "plots"}, plot(sweep.points.map(point => [point.value, point.peak_bytes]), `predicted peak memory ${title}`, value => bytesText(Math.round(value))),
      plot(sweep.points.map(point => [point.value, point.time_ns]), `predicted time ${title}`, timeText));
  });
  if (plan.refused) return section("memory", "Memory", refusalText(plan), sweeps);
  const hasSizes = Object.keys(plan.dims).length > 0;
  return section("memory", "Memory",
    element("p", {}, hasSizes ? `At ${sizesText(plan.dims)}. ` : data.symbols.length ? "As formulas: --dim gives sizes. " : "",
      plan.predicted_peak_bytes !== null ? `Predicted peak: ${bytesText(plan.predicted_peak_bytes)}. ` : plan.why_no_peak ? `No predicted peak: ${plan.why_no_peak}. ` : "",
      `Constants: ${bytesText(plan.constants_bytes)}.`),
    memoryPicture(plan.buffers.filter(one => one.function === plan.arenas[0]?.function)),
    table([["arena of", ""], ["slots", "number"], ["size", ""], ["bytes", "number"]],
      plan.arenas.map(arena => [code(arena.function), arena.slots_count, String(arena.size), arena.size_bytes === null ? "" : bytesText(arena.size_bytes)])),
    element("details", {}, element("summary", {}, countText(plan.buffers.length, "buffer")),
      table([["value", ""], ["type", ""], ["size", ""], ["bytes", "number"], ["offset", "number"], ["lives", "number"]],
        plan.buffers.map(one => [code(one.name), `${one.dtype} [${one.shape.join(", ")}]`, String(one.size), one.size_bytes === null ? "" : bytesText(one.size_bytes),
          one.pooled ? "pool" : one.offset_bytes ?? String(one.offset), `${one.begin}–${one.end}`]))),
    element("h3", {}, "Over sizes, predicted"), sweeps.length ? sweeps : element("p", {class: "quiet"}, "No size varies."));
}

function kernelsSection() {
  const kernels = data.kernels;
  if (kernels.refused) return section("kernels", "Kernels", refusalText(kernels));
  return section("kernels", "Kernels", kernels.kernels.map((kernel, i) => {
    const texts = data.kernel_texts[i];
    if (!texts || kernel.kind !== "kernel") return element("p", {}, code(kernel.name), " ", element("span", {class: "quiet"}, kernel.description));
    const body = element("div"), made = element("details", {id: "kernel-" + i, ontoggle: () => {
      if (!made.open || body.firstChild) return;
      body.append(element("p", {class: "quiet"}, (texts.places ?? []).map(nodeOfPlace).join(", ")), element("h3", {}, "Loop IR"), element("pre", {}, texts.loop), element("h3", {}, "Assembly"),
        typeof texts.asm === "string" ? element("pre", {}, texts.asm) : refusalText(texts.asm));
    }}, element("summary", {}, code(kernel.name), " ", element("span", {class: "quiet"}, `${kernel.description}; ${countText((texts.places ?? []).length, "operation")}`)), body);
    return made;
  }), kernels.contractions.length ? [element("h3", {}, "Kernel variants of products and convolutions"),
    table([["values", ""], ["chosen", ""], ["by", ""], ["candidates", "number"]],
      kernels.contractions.map(row => [row.values.join(", "), code(row.chosen), row.by, row.candidates.length]))] : "");
}

function timeline(run) {
  const threads = [...new Set(run.timeline.map(event => event.thread))].sort((a, b) => a - b), H = 26;
  const end = Math.max(1, ...run.timeline.map(event => event.begin_ns + event.duration_ns));
  const svg = element("svg", {class: "timeline", viewBox: `0 0 1000 ${threads.length * H + 4}`, preserveAspectRatio: "none", width: "100%", height: threads.length * H + 4, role: "img"},
    run.timeline.map(event => element("rect", {class: "event", x: 1000 * event.begin_ns / end, y: threads.indexOf(event.thread) * H + 2,
      width: Math.max(.15, 1000 * event.duration_ns / end), height: H - 4, fill: `var(--category-${categoryOfKernel(event.name)})`},
      element("title", {}, `${event.name}: ${timeText(event.duration_ns)} from ${timeText(event.begin_ns)}\n${nodeOfPlace(event.place)}\n${event.shapes}`))));
  const range = element("input", {type: "range", min: 0, max: 6, step: .25, value: 0, "aria-label": "zoom of the timeline", oninput: () => { svg.setAttribute("width", `${100 * 2 ** range.value}%`); }});
  return [element("h3", {}, `Timeline, ${timeText(end)}`), element("div", {class: "tools"}, "zoom", range, element("span", {class: "quiet"}, threads.map(thread => run.lanes[thread] ?? (thread === 1 ? "the run" : `thread ${thread}`)).join(" / ")),
    run.events_count > run.timeline.length ? element("span", {class: "quiet"}, `the longest ${run.timeline.length} of ${run.events_count} events`) : ""),
    element("div", {class: "scroll"}, svg), legend([...new Set(run.timeline.map(event => categoryOfKernel(event.name)))])];
}

function runSection() {
  const run = data.run;
  if (run.refused) return section("run", "Run", refusalText(run));
  const rows = [...run.kernels].sort((a, b) => b.total_ns - a.total_ns);
  return section("run", "Run",
    element("p", {}, `${sizesText(run.dims)}: ${timeText(run.runs[0].ns)}, ${countText(run.launches_count, "launch").replace("launchs", "launches")}, peak ${bytesText(run.peak_bytes)}. `,
      run.random_inputs.length ? `Random inputs: ${run.random_inputs.join(", ")}.` : ""),
    timeline(run),
    element("h3", {}, "Profile"),
    table([["kernel", ""], ["what", ""], ["launches", "number"], ["time", "number"], ["share", "number"], ["place", ""]],
      rows.map(row => [code(row.name), row.description, row.launches_count, timeText(row.total_ns),
        [`${(100 * row.share).toFixed(1)} %`, element("span", {class: "bar"}, element("i", {style: `width:${(100 * row.share).toFixed(1)}%`}))], nodeOfPlace(row.place)])));
}

function machineSection() {
    return section("machine", "Machine",
    element("p", {}, "Made by Dyn ", data.version, " with"), element("pre", {class: "wrapped"}, data.command_line),
    data.target.refused ? refusalText(data.target) : element("details", {}, element("summary", {}, `Target: ${data.target.title}`), element("pre", {}, data.target.text)),
    element("details", {}, element("summary", {}, "Settings"), table([["setting", ""], ["value", ""], ["from", ""]], data.settings.map(row => [row.name, String(row.value), row.from]))));
}

function themeButton() {
  const button = document.getElementById("theme"), themes = ["system", "light", "dark"], root = document.documentElement;
  const set = theme => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    button.textContent = theme;
  };
  set("system");
  button.addEventListener("click", () => set(themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % 3]));
}

const file = data.model.path.split("/").at(-1);
document.title = `${file}: Dyn report`;
document.getElementById("title").textContent = file;
document.getElementById("subtitle").textContent = [data.model.kind === "onnx" ? `ONNX, opset ${data.model.opset}` : data.model.kind, data.model.producer].filter(Boolean).join(", ");
themeButton();
document.getElementById("page").replaceChildren(overview(), graphSection(), passesSection(), dimsSection(), memorySection(), kernelsSection(), runSection(), machineSection());
