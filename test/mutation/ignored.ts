import type { Ignorer } from '@stryker-mutator/api/ignore';

/** A node of the syntax tree, as far as it is looked at here, and what it stands in. */
interface Place {
  node: { type: string; value?: unknown; id?: { typeAnnotation?: unknown } };
  parentPath: Place | null;
}

/** Mutants that no test could see, by kind; each kind with its reason. */
export const ignored: Ignorer = {
  shouldIgnore(path) {
    const { node, parentPath: around } = path as Place;
    if (node.type === 'BooleanLiteral' && isTypedTrue(around))
      return 'the type allows no other value: it would not compile';
    return undefined;
  },
};

/** Whether a property stands in a table whose declared type has `true` for its values. */
function isTypedTrue(property: Place | null): boolean {
  const declared = property?.parentPath?.parentPath?.node;
  if (property?.node.type !== 'ObjectProperty' || declared?.type !== 'VariableDeclarator') return false;
  return JSON.stringify(declared.id?.typeAnnotation ?? '').includes('"literal":{"type":"BooleanLiteral"');
}
