-- Counts a message as 'accepted' or as 'settled', and returns the new count. If there is no count of accepted messages yet,
-- that count begins with the length of the stream. Call `count` before any other write, so that damaged counts fail the script
-- before it changes a message.
local function count(counts, inbound, what)
  redis.call('HSETNX', counts, 'accepted', redis.call('XLEN', inbound))
  return redis.call('HINCRBY', counts, what, 1)
end
