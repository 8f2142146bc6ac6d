/**
 * The name of a model without what an endpoint puts around it: `anthropic/claude-opus-5-5`, `claude-opus-5.5`,
 * `us.anthropic.claude-opus-5-5-v1:0` and `claude-opus-5-5@20260922` are one model.
 */
export function modelName(name: string): string {
  const bare = name.slice(Math.max(0, name.lastIndexOf('claude-')));
  return bare
    .replace(/[@:].*$/, '')
    .replace(/-v\d+$/, '')
    .replaceAll('.', '-');
}
