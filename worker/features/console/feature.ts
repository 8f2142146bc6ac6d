import type { Feature } from '../../feature.ts';

/** The operator's console on the HTTP port, if `OPERATOR_TOKEN` is set. */
export const consoleFeature: Feature = {
  name: 'console',
  async serve(root) {
    const { OPERATOR_TOKEN: token } = root.settings;
    if (token === undefined) return undefined;
    const { startConsole } = await import('./console.ts');
    return startConsole(root, token);
  },
};
