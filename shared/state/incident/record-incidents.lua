-- Writes a change into the book of incidents. Does nothing if another process has written since the caller read the book.
-- KEYS  1 incidents
-- ARGV  1 version of the book that the caller read   then fields with their values, '' to remove one
-- Reply 1, or 0 if another process wrote
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0) or 0
if version ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'version', version + 1)
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
