/** The look of the page, in the colours of a messenger, for light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--page:#e7ebf0;--ink:#10181f;--faint:#66747f;--user:#e1fbc6;--bot:#fff;--line:#2f8fd8;--card:#f4f6f8;--code:#eef1f4;--shade:#0002;--button:#0001}
@media (prefers-color-scheme:dark){:root{--page:#0e1621;--ink:#f2f5f7;--faint:#8b9aa7;--user:#2b5278;--bot:#182533;--line:#6ab3f3;--card:#17212b;--code:#0f1a25;--shade:#0006;--button:#ffffff1c}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:34rem;margin:0 auto;padding:1rem .75rem 4rem}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .2rem}h3{font-size:.8rem;font-weight:600;color:var(--faint);margin:1rem 0 .4rem;text-align:center}
nav{background:var(--card);border-radius:.8rem;padding:.7rem 1rem;margin:1rem 0}nav a{display:block;padding:.15rem 0}
a{color:var(--line)}.about{color:var(--faint);margin:.1rem 0 .6rem}.failed{background:#c0392b;color:#fff;padding:.5rem .8rem;border-radius:.6rem;white-space:pre-wrap}
.row{display:flex;flex-direction:column;margin:.4rem 0}.row.user{align-items:flex-end}.row.bot{align-items:flex-start}
.bubble{max-width:92%;padding:.45rem .7rem;border-radius:1rem;box-shadow:0 1px 1px var(--shade);overflow-wrap:anywhere;unicode-bidi:isolate}
.user .bubble{background:var(--user);border-bottom-right-radius:.3rem}.bot .bubble{background:var(--bot);border-bottom-left-radius:.3rem}
.text{white-space:pre-wrap}.author{margin:0;font-size:.8rem;font-weight:600;color:var(--line)}.forwarded,.file{margin:0 0 .2rem;font-size:.85rem;color:var(--faint)}
.file{background:var(--code);color:var(--ink);border-radius:.5rem;padding:.4rem .6rem}
.answers{border-left:3px solid var(--line);background:var(--code);border-radius:.3rem;padding:.15rem .5rem;margin:.1rem 0 .3rem;font-size:.85rem;overflow:hidden}
.fate{margin:.15rem .4rem 0;font-size:.75rem;color:var(--faint);max-width:88%;overflow-wrap:anywhere}.row.user .fate{text-align:right}
.event{text-align:center;font-size:.8rem;color:var(--faint);margin:.5rem 0}.gone{opacity:.55;text-decoration:line-through}
.draft{border:1px dashed var(--faint);background:none!important;box-shadow:none;color:var(--faint);font-size:.9rem}.draft .text{border-top:1px dashed var(--shade);margin-top:.4rem;padding-top:.4rem}
.earlier{font-size:.8rem;color:var(--faint);margin-top:.3rem}.earlier .text{border-top:1px solid var(--shade);padding-top:.3rem;margin-top:.3rem}
.keyboard{width:92%;max-width:20rem}.keyboard div{display:flex;gap:.25rem;margin-top:.25rem}.button{flex:1;text-align:center;background:var(--button);border-radius:.5rem;padding:.35rem .6rem;font-size:.9rem}
.used{width:100%;opacity:.7}.button.danger{background:#e5393533}.button.primary{background:#2f8fd833}.button.success{background:#43a04733}.button.disabled{opacity:.5}
code{font:.88em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono",monospace;background:var(--code);border-radius:.25rem;padding:.05em .25em}
pre{position:relative;background:var(--code);border-radius:.5rem;padding:.5rem .6rem;margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere}pre code{background:none;padding:0}
.language{display:block;font-size:.7rem;color:var(--line);margin-bottom:.2rem}
blockquote{margin:.3rem 0;padding:.1rem 0 .1rem .6rem;border-left:3px solid var(--line)}.quote summary{color:var(--faint)}
.spoiler{background:var(--faint);color:transparent;border-radius:.2rem}.spoiler:hover{color:inherit;background:none}.link{color:var(--line)}
.hidden{background:#c0392b;color:#fff;font:600 .7rem ui-monospace,monospace;border-radius:.2rem;padding:0 .2rem}
.blocks{white-space:normal}.blocks p{margin:.35rem 0;white-space:pre-wrap}.heading{font-weight:700}.size-1,.size-2{font-size:1.12em}.footer,.thinking{color:var(--faint);font-size:.85em}
.formula{font-family:"Cambria Math","STIX Two Math",serif;font-style:italic}p.formula{text-align:center}
.wide{overflow-x:auto;margin:.4rem 0}table{border-collapse:collapse;font-size:.92em}th,td{border:1px solid var(--shade);padding:.25rem .5rem;vertical-align:top}th{background:var(--code)}
.left{text-align:left}.center{text-align:center}.right{text-align:right}
ul.rich{list-style:none;margin:.3rem 0;padding:0}ul.rich li{display:flex;gap:.45rem}ul.rich li p{margin:.1rem 0}.mark{flex:none;min-width:1.1em}
hr{border:0;border-top:1px solid var(--shade)}summary{cursor:pointer}
`;
