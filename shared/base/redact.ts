/** Credentials as people paste them. Each pattern is linear: no two starts may scan the same run to its end. */
const CREDENTIALS = [
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,}/g,
  /\b\d{5,}:[A-Za-z0-9_-]{30,}/g,
  /\bbot\d+:[A-Za-z0-9_-]+/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\b(?:gh[pousr]|npm|hf)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z ]{0,40}-----)?/g,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:[^\s/@]{1,200}@/gi,
  /\bbearer\s{1,8}[A-Za-z0-9._~+/-]{20,}/gi,
];
/** A name, what separates it from its value (quotes may be escaped), and the value, which ends before a quote. */
const ASSIGNED =
  /(password|passwd|passphrase|secret(?:[_-]?key)?|token|(?:api|access|private)[_-]?key|authorization)(\\?["']?\s{0,3}[:=]>?\s{0,3}\\?["']?)(?:(?:bearer|basic)\s{1,8})?(?:[^\s"',;\\]|\\(?!["'])){4,200}/gi;

/** Replaces everything that looks like a credential. Pure, linear. */
export function redact(text: string): string {
  const plain = CREDENTIALS.reduce((rest, pattern) => rest.replace(pattern, '[secret]'), text);
  return plain.replace(ASSIGNED, '$1$2[secret]');
}
