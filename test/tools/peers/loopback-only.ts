/** Loaded before a server that listens on every address of the machine: it must not be reached from outside. */
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (this: Server, port: unknown, ...rest: unknown[]) {
  return Reflect.apply(listen, this, [port, '127.0.0.1', ...rest]);
} as typeof listen;
