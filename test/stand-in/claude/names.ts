/** The models whose thinking blocks are bound to the conversation before them ("preserved thinking"). */
const BINDING = /claude-(?:(?:fable|mythos)-5-[12]|(?:opus|sonnet|haiku)-5-5)(?:[-@:]|$)/;

/** Whether the model of that name, in whatever an endpoint puts around it, binds its thinking, as documented in November 2026. */
export function bindsByName(name: string): boolean {
  return BINDING.test(name.replaceAll('.', '-'));
}
