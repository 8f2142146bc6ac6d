-- Writes the result of a check into the book of incidents, with the resulting notices, unless another process has
-- written since the book was read: then its check replaces ours.
-- KEYS  1 incidents   2 notices
-- ARGV  1 version of the book as read   2 number of fields   then fields and their values, '' to remove one
--       then a notice (JSON) each
-- Reply 1, or 0 when nothing was written
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0) or 0
if version ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'version', version + 1)
local at, last = 3, 2 + 2 * tonumber(ARGV[2])
while at < last do
  if ARGV[at + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[at])
  else
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
  end
  at = at + 2
end
for i = last + 1, #ARGV do
  redis.call('XADD', KEYS[2], '*', 'notice', ARGV[i])
end
return 1
