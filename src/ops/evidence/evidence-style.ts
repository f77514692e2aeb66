/** The style of the evidence as HTML: one file, without scripts and without anything from elsewhere; made for printing. */

export const EVIDENCE_STYLE = `
:root { color-scheme: light; font: 14px/1.4 system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 75rem; padding: 1.5rem; color: #1a2024; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; border-top: 3px solid #1a2024; padding-top: .6rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; }
a { color: #0f5c63; }
.faint { color: #566168; }
.missing { border-left: 4px solid #7a5200; padding-left: .7rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #566168; padding: 0 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .45rem; border: 1px solid #b8c0c4; overflow-wrap: anywhere; }
th { background: #eef1f2; font-weight: 600; overflow-wrap: normal; }
tr.differs td, tr.differs th { background: #fff3bf; }
.number { text-align: right; overflow-wrap: normal; font-variant-numeric: tabular-nums; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .2rem 1.2rem; margin: .5rem 0; }
.facts div { display: flex; gap: .5rem; }
.facts dt { color: #566168; white-space: nowrap; }
.facts dd { margin: 0; min-width: 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #b8c0c4; padding: .5rem; margin: .2rem 0 .8rem;
  font: 12px/1.4 ui-monospace, Menlo, Consolas, monospace; }
.wide { overflow-x: auto; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  :root { font-size: 10pt; }
  body { max-width: none; padding: 0; }
  section.mismatch { break-before: page; }
  h2 { border-top: 0; margin-top: 0; padding-top: 0; }
  h2, h3, caption { break-after: avoid; }
  tr { break-inside: avoid; }
  thead { display: table-header-group; }
  .wide { overflow: visible; }
  a { color: inherit; text-decoration: none; }
}
`;
