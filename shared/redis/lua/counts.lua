-- Counts a message as 'accepted' or as 'settled', and returns the new count. The first call counts the entries in the stream
-- as accepted: see balance.lua. Call it before any other write, so that damaged counts fail the script before it changes
-- anything.
local function count(counts, inbound, what)
  redis.call('HSETNX', counts, 'accepted', redis.call('XLEN', inbound))
  return redis.call('HINCRBY', counts, what, 1)
end
