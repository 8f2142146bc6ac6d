-- Counts a message as 'accepted' or as 'settled', and tells how many there are now. What an uncounted past left in the stream
-- counts as accepted: see balance.lua. To be called before anything else is written: should the counts be damaged, nothing is
-- half done.
local function count(counts, inbound, what)
  redis.call('HSETNX', counts, 'accepted', redis.call('XLEN', inbound))
  return redis.call('HINCRBY', counts, what, 1)
end
