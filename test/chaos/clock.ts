/**
 * Preloaded into a gateway (`--import`), so that its clock can jump: SIGURG sets it off by `CHAOS_CLOCK_JUMP_MS`, and a
 * second one sets it right. Timers and the monotonic clock go on, as they do when the time of a machine is corrected.
 */
const RealDate = Date;
const jumpMs = Number(process.env.CHAOS_CLOCK_JUMP_MS);
let offMs = 0;

class JumpingDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [JumpingDate.now()] : given) as [number]));
  }

  static override now = (): number => RealDate.now() + offMs;
}

globalThis.Date = JumpingDate as DateConstructor;

process.on('SIGURG', () => {
  offMs = offMs === 0 ? jumpMs : 0;
});
