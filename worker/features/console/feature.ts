import type { Feature } from '../../feature.ts';

/** The operator's page on the HTTP port, where there is a token for it. */
export const consoleFeature: Feature = {
  name: 'console',
  async serve(root) {
    const { OPERATOR_TOKEN: token } = root.settings;
    if (token === undefined) return undefined;
    const { startConsole } = await import('./console.ts');
    return startConsole(root, token);
  },
};
