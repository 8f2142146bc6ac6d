import type { Mutant } from './mutant.ts';

/** The safeguards of what people decide about tools. */
export const CONSENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'the policy is asked before the stored decision',
    mutations: {
      file: 'worker/tools/asking.ts',
      from: 'const how = decision?.calls?.[call.id];',
      to: 'const how = needsApproval(call, policy) ? decision?.calls?.[call.id] : undefined;',
    },
    scenario: 'consent-declined',
    violates: 'I12',
  },
  {
    name: 'a grant outlives the definition that it was given for',
    mutations: { file: 'worker/tools/asking.ts', from: 'grant.definition === definition && ', to: '' },
    scenario: 'consent-granted',
    violates: 'I12',
  },
];
