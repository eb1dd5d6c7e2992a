// What the viewer of curves uses of D3.

export { scaleLinear, scaleLog } from "d3-scale";
export { interpolateViridis } from "d3-scale-chromatic";
