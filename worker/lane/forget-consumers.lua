-- Removes the consumers of a group that are gone: idle for long, with nothing pending. A consumer's pending list goes with
-- it, so one that has entries which still exist stays until they are settled. Entries that exist no more are acknowledged
-- first.
-- KEYS  1 stream
-- ARGV  1 group   2 consumer that stays, or ''   3 ms of idleness   4 '1' to remove the group too once it has no consumer
-- Reply number of consumers removed
-- include: entry
local removed, left = 0, 0

local function acknowledge_gone(consumer)
  for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, consumer)) do
    if not redis.call('XRANGE', KEYS[1], pending[1], pending[1])[1] then
      redis.call('XACK', KEYS[1], ARGV[1], pending[1])
    end
  end
  return #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, consumer)
end

local function has_group()
  if redis.call('EXISTS', KEYS[1]) == 1 then
    for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
      if field(group, 'name') == ARGV[1] then
        return true
      end
    end
  end
  return false
end

if not has_group() then
  return 0
end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local name = field(consumer, 'name')
  local isGone = name ~= ARGV[2] and field(consumer, 'idle') >= tonumber(ARGV[3])
  if isGone and acknowledge_gone(name) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
    removed = removed + 1
  else
    left = left + 1
  end
end
if ARGV[4] == '1' and left == 0 then
  redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
end
return removed
