"use strict";
// Layered layout: boxes of a directed graph in rows from top to bottom.
//
//   layeredLayout([{width, height}], [{from, to}], [port indices above], [port indices below])
//     → {boxes: [{x, y}], routes: [[{x, y}]], width, height}
//
// Boxes come in execution order; an edge against it is turned round, so no edge closes a cycle. Rows are longest paths,
// ordered by barycentres; x is found by sweeps that pull each box to the mean of its neighbours while the order stays
// (isotonic regression of each row). An edge over more than MOST_ROWS rows takes no part, and has a route of two points.
function layeredLayout(sizes, edges, tops, bottoms) {
  const GAP = 18, ROW_GAP = 30, MOST_ROWS = 24, VIRTUAL = 8;
  const count = sizes.length;
  if (!count) return {boxes: [], routes: [], width: 0, height: 0};
  const isTop = new Set(tops), isBottom = new Set(bottoms);
  const links = edges.map(({from, to}) => {
    const turned = !isTop.has(from) && !isBottom.has(to) && from > to;
    return turned ? {from: to, to: from, turned} : {from, to, turned};
  });
  const next = sizes.map(() => []), row = new Array(count).fill(tops.length ? 1 : 0);
  for (const port of tops) row[port] = 0;
  links.forEach(link => { if (link.from !== link.to) next[link.from].push(link.to); });
  const order = [...tops, ...[...sizes.keys()].filter(i => !isTop.has(i) && !isBottom.has(i)), ...bottoms];
  for (const i of order) for (const j of next[i]) row[j] = Math.max(row[j], row[i] + 1);
  // What nothing leads to stands just above its first reader.
  const hasSource = new Set(links.map(link => link.to));
  for (const i of order)
    if (!hasSource.has(i) && !isTop.has(i) && next[i].length) row[i] = Math.max(row[i], Math.min(...next[i].map(j => row[j])) - 1);
  const last = bottoms.length ? Math.max(...row.filter((_, i) => !isBottom.has(i)), 0) + 1 : Math.max(...row);
  for (const port of bottoms) row[port] = last;

  // Edges over several rows go through virtual boxes.
  const width = sizes.map(size => size.width), above = sizes.map(() => []), below = sizes.map(() => []);
  const chains = links.map(({from, to}) => {
    if (from === to || row[to] - row[from] > MOST_ROWS) return null;
    const chain = [from];
    for (let r = row[from] + 1; r < row[to]; ++r) {
      chain.push(width.length);
      width.push(VIRTUAL); row.push(r); above.push([]); below.push([]);
    }
    chain.push(to);
    for (let i = 1; i < chain.length; ++i) { below[chain[i - 1]].push(chain[i]); above[chain[i]].push(chain[i - 1]); }
    return chain;
  });
  const rows = Array.from({length: last + 1}, () => []);
  for (let i = 0; i < width.length; ++i) rows[row[i]].push(i);

  const place = new Array(width.length).fill(0);
  const renumber = line => line.forEach((box, i) => { place[box] = i - line.length / 2; });
  rows.forEach(renumber);
  const mean = (list, of, otherwise) => list.length ? list.reduce((sum, one) => sum + of[one], 0) / list.length : otherwise;
  for (let sweep = 0; sweep < 8; ++sweep) {
    const down = sweep % 2 === 0;
    for (const line of down ? rows : [...rows].reverse()) {
      const key = new Map(line.map(box => [box, mean((down ? above : below)[box], place, place[box])]));
      line.sort((a, b) => key.get(a) - key.get(b));
      renumber(line);
    }
  }

  const x = new Array(width.length).fill(0);  // of centres
  for (const line of rows) {
    let at = 0;
    for (const box of line) { x[box] = at + width[box] / 2; at += width[box] + GAP; }
    for (const box of line) x[box] -= at / 2;
  }
  for (let sweep = 0; sweep < 14; ++sweep)
    for (const line of sweep % 2 ? [...rows].reverse() : rows) {
      // Of the centre of each box less what must lie left of it: such numbers only have to ascend.
      const pools = [];
      let offset = 0, before = 0;
      line.forEach((box, i) => {
        offset += i ? before / 2 + GAP + width[box] / 2 : 0;
        before = width[box];
        const near = [...above[box], ...below[box]];
        pools.push({sum: mean(near, x, x[box]) - offset, weight: 1, boxes: [[box, offset]]});
        while (pools.length > 1) {
          const b = pools.at(-1), a = pools.at(-2);
          if (a.sum / a.weight <= b.sum / b.weight) break;
          pools.pop();
          a.sum += b.sum; a.weight += b.weight; a.boxes.push(...b.boxes);
        }
      });
      for (const pool of pools) for (const [box, at] of pool.boxes) x[box] = pool.sum / pool.weight + at;
    }

  let left = Infinity, right = -Infinity;
  for (let i = 0; i < width.length; ++i) { left = Math.min(left, x[i] - width[i] / 2); right = Math.max(right, x[i] + width[i] / 2); }
  const y = [], heights = rows.map(line => Math.max(0, ...line.map(box => sizes[box]?.height ?? 0)));
  let down = 0;
  for (const height of heights) { y.push(down); down += height + ROW_GAP; }
  const boxes = sizes.map((size, i) => ({x: x[i] - left - size.width / 2, y: y[row[i]] + (heights[row[i]] - size.height) / 2}));
  const ends = (from, to) => [{x: x[from] - left, y: boxes[from].y + sizes[from].height}, {x: x[to] - left, y: boxes[to].y}];
  const routes = links.map(({from, to, turned}, e) => {
    const [begin, end] = ends(from, to), chain = chains[e];
    const middle = chain ? chain.slice(1, -1).map(box => ({x: x[box] - left, y: y[row[box]] + heights[row[box]] / 2})) : [];
    const points = [begin, ...middle, end];
    return turned ? points.reverse() : points;
  });
  return {boxes, routes, width: right - left, height: down - ROW_GAP};
}

