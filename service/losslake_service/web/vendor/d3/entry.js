// What the viewer of curves uses of D3.

export { bisectCenter, bisector, extent, group, least, max, median, rollup } from "d3-array";
export { scaleLinear, scaleLog, scaleSequential, scaleSequentialLog } from "d3-scale";
export { interpolateViridis } from "d3-scale-chromatic";
