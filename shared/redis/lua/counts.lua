-- Counts a message as 'accepted' or as 'settled', and returns the new count. If there is no count of accepted messages yet, it
-- first becomes the length of the stream. Call this before any other write: it fails if a count is damaged, and the script then
-- has changed no message.
local function count(counts, inbound, what)
  redis.call('HSETNX', counts, 'accepted', redis.call('XLEN', inbound))
  return redis.call('HINCRBY', counts, what, 1)
end
