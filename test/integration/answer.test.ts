import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Service } from '../../shared/lifecycle.ts';
import { createWorld, startGateway, type World } from '../fixture/gateway.ts';

let world: World;
let gateway: Service;

beforeEach(async () => {
  world = await createWorld();
  gateway = await startGateway(world);
});

afterEach(async () => {
  await gateway.stop();
  await world.close();
});

test('a message is answered, settled once and acknowledged', async () => {
  world.telegram.say(1001, 'Hello there');
  const reply = await world.telegram.waitForText(1001, /You said/);
  expect(reply.text).toContain('Hello there');
});
