/** The models whose thinking blocks are bound to the conversation before them ("preserved thinking"). */
const BINDING = /^claude-(?:(?:fable|mythos)-5-[12]|(?:opus|sonnet|haiku)-5-5)(?:-|$)/;

/** Whether the model of that name binds its thinking, as documented in November 2026. */
export function bindsByName(name: string): boolean {
  return BINDING.test(modelName(name));
}

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
