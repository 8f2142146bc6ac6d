/**
 * The forms of credentials that people may paste. Each pattern takes time linear in the length of the text. Each repetition is
 * bounded, because a match of millions of characters would exhaust the stack of the regular expression engine, and so throw.
 */
const CREDENTIALS = [
  /\bsk-[A-Za-z0-9_-]{8,9999}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,9999}/g,
  /\b\d{5,20}:[A-Za-z0-9_-]{30,9999}/g,
  /\bbot\d{1,20}:[A-Za-z0-9_-]{1,9999}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,9999}/g,
  /\b(?:gh[pousr]|npm|hf)_[A-Za-z0-9]{20,9999}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,9999}/g,
  /\bglpat-[A-Za-z0-9_-]{16,9999}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,9999}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,9999}\.[A-Za-z0-9_-]{10,9999}\.[A-Za-z0-9_-]{0,9999}/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){0,99999}(?:-----END [A-Z ]{0,40}-----)?/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:[^\s/@]{1,200}@/gi,
  /\bbearer\s{1,8}[A-Za-z0-9._~+/-]{20,9999}/gi,
];
/** A name, a separator whose quotes may be escaped, and a secret value, up to white space, a quote, a comma or a semicolon. */
const ASSIGNED =
  /(password|passwd|passphrase|secret(?:[_-]?key)?|token|(?:api|access|private)[_-]?key|authorization)(\\?["']?\s{0,3}[:=]>?\s{0,3}\\?["']?)(?:(?:bearer|basic)\s{1,8})?(?:[^\s"',;\\]|\\(?!["'])){4,200}/gi;

/** Replaces everything that looks like a credential with `[secret]`. Pure, in linear time. */
export function redact(text: string): string {
  const plain = CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[secret]'), text);
  return plain.replace(ASSIGNED, '$1$2[secret]');
}
