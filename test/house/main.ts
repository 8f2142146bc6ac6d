import { findRedis, runTool, say } from '../tools/tool.ts';
import { linesByRoom, measureHouse, oneNeighbourFiles } from './figures.ts';
import { walkWay } from './way.ts';
import { measureWords } from './words.ts';

const HELP = `Usage: npm run house [-- options]

Prints how large the house is, and the way of a plain message through it, which it measures with a gateway on a private
Redis. test/house/budgets.ts holds most of these figures down.

  --rooms   also the lines of each room
  --list    also the functions on the way, and the small files that serve one neighbour
  --json    the figures alone, for machines`;

const OPTIONS = { rooms: { type: 'boolean' }, list: { type: 'boolean' }, json: { type: 'boolean' } } as const;

await runTool(HELP, OPTIONS, async (values) => {
  await findRedis();
  const way = await walkWay();
  const figures = {
    ...measureHouse(),
    ...measureWords(),
    messageFiles: way.files.length,
    messageFunctions: way.functions.length,
  };
  if (values.json) return say(JSON.stringify(figures));
  for (const [name, value] of Object.entries(figures)) say(`${String(value).padStart(7)}  ${name}`);
  if (values.rooms) for (const [room, lines, files] of linesByRoom()) say(`${lines}\t${files}\t${room}`);
  if (values.list) say([...way.functions, '', ...oneNeighbourFiles()].join('\n'));
});
// The gateway that was measured leaves timers behind.
process.exit();
