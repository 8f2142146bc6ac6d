-- Counts a message as 'accepted' or as 'settled', and returns the new count. Entries that an uncounted past left in the
-- stream count as accepted: see balance.lua. Call it before any other write: if the counts are damaged, nothing is half
-- done.
local function count(counts, inbound, what)
  redis.call('HSETNX', counts, 'accepted', redis.call('XLEN', inbound))
  return redis.call('HINCRBY', counts, what, 1)
end
