-- Lists the due reminders, earliest first. Removes erased reminders from the sorted set.
-- KEYS  1 reminders   2 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 prefix of the keys of a chat's reminders   2 maximum number of reminders to list   3 prefix of chat keys
-- Reply {ms since the epoch, due time in ms of the first reminder that is not due yet | '',
--        {{chat, id, due, reminder (JSON), key of the chat before or after it became a supergroup | ''}, …}}
-- include: time
local now = now_ms()
local due = {}
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for at = 1, #found, 2 do
  local chat, id = found[at]:match('^(.*):([^:]*)$')
  local reminder = chat and redis.call('HGET', ARGV[1] .. chat, id)
  if reminder then
    local other_ids = redis.call('HMGET', ARGV[3] .. chat, 'movedTo', 'movedFrom')
    due[#due + 1] = { chat, id, found[at + 1], reminder, other_ids[1] or other_ids[2] or '' }
  else
    redis.call('ZREM', KEYS[1], found[at])
  end
end
local next_one = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { now, next_one[2] or '', due }
