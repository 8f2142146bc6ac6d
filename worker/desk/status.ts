import { readStatus, statusReport } from '../report/status.ts';
import type { DeskHandler } from './desk.ts';
import { onPhone } from './phone.ts';

/** `/status`: the state of the installation. */
export const status: DeskHandler = async (ports) => ({
  text: onPhone(statusReport(await readStatus(ports, ports.config))),
});
