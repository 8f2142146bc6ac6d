-- Stores the id of the gateway's message in the chat of a summons, or that Telegram refuses such a message, and returns both
-- as stored. An id that is stored already stays. Stores nothing once the summons has its outcome.
-- KEYS  1 inbound   2 turn
-- ARGV  1 entry   2 id of the gateway's message, or ''   3 '1' if Telegram refuses the message, or ''
-- Reply {id of the gateway's message | '', '1' if Telegram refuses the message | ''}
if #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) > 0 then
  if ARGV[2] ~= '' then
    redis.call('HSETNX', KEYS[2], 'reply:there', ARGV[2])
  end
  if ARGV[3] ~= '' then
    redis.call('HSET', KEYS[2], 'reply:refused', 1)
  end
end
local stored = redis.call('HMGET', KEYS[2], 'reply:there', 'reply:refused')
return { stored[1] or '', stored[2] or '' }
