import type { Texts } from './texts.ts';

const BUDGET = { chat: '這個聊天室', person: '你', total: '我' };
const PERIOD = { day: '今天', month: '這個月' };

function again({ atMs, timeZone }: Parameters<Texts['budget']['usedUp']>[2]): string {
  const parts = { day: 'numeric', month: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return `${new Intl.DateTimeFormat('zh-TW', { ...parts, timeZone }).format(atMs)}（${timeZone}）`;
}

/** Every text that a user reads besides answers, in Traditional Chinese. */
export const ZH_HANT: Texts = {
  languageName: '繁體中文',

  freshSession:
    '我們的對話已經超出模型的容量，所以我帶著一份簡短摘要開始新的對話。輸入 /recall 加上關鍵字可以找回說過的內容，/export 會把全部內容傳給你。',
  freshAfterPoison:
    '模型不再接受我們的對話，所以我帶著一份簡短摘要開始新的對話。輸入 /recall 加上關鍵字可以找回說過的內容，/export 會把全部內容傳給你。',
  bareAfterPoison:
    '模型不再接受我們的對話，所以我開始新的對話，不帶入先前的內容。內容都還保留著：輸入 /recall 加上關鍵字可以搜尋，/export 會把全部內容傳給你。',
  compacted: (messages) =>
    `為了騰出空間，我把最早的 ${messages} 則訊息改成了摘要。輸入 /recall 加上關鍵字可以找回內容，/export 會把全部內容傳給你。`,
  shortenedText: (name, percent) =>
    `${name ? `「${name}」` : '你的訊息'}太長，我無法一次讀完，所以只讀了 ${percent}%：開頭和結尾。`,
  shortenedPages: (name, pages, all) =>
    `${name ? `「${name}」` : '你的 PDF'}太大，我無法一次讀完，所以只讀了前 ${pages} 頁的文字（共 ${all} 頁），沒有看圖片。`,
  pagesWithoutText: (name) =>
    `${name ? `「${name}」` : '你的 PDF'}太大，我無法一次讀完，而且在頁面上找不到文字，所以沒有讀它。請傳頁數較少的檔案。`,
  scrubbed: '你的訊息對模型來說太長，我只讀了開頭和結尾。',
  removed: (names, hasMore) =>
    `模型無法讀取全部內容，所以我略過了 ${names.join('、')}${hasMore ? ' 等' : ''}。/export 會把保留的內容全部傳給你。`,

  endlessThought: '我無法在限制內想完這則訊息。請分成較小的步驟來問。你可以繼續在這裡輸入。',
  waiting: '目前無法連上模型。你的訊息已經保留，正在等待，不需要再傳一次。',
  oneMoment: '請稍候……如果這裡沒有出現回覆，我會私下傳給你。',
  onlyOneMessage: '〔我在這裡只能回一則訊息，所以內容有刪節。請一次少問一點，就能讀到更多。〕',
  answeredInPrivate: (title: string | undefined) =>
    `你在${title === undefined ? '另一個聊天室' : `「${title}」`}裡叫了我。我沒辦法在那裡回覆，所以回在這裡：`,
  repeat: '↻ 傳送這則訊息時連線中斷，所以它可能是重複的：',
  gaveUp: '我無法回答這則訊息：它對模型來說太長。請分成幾段傳送。你可以繼續在這裡輸入。',
  notTaken: '我無法回答這則訊息：模型不接受它。已經通知管理者。你可以繼續在這裡輸入。',
  unreadable: '我無法讀取這則訊息。已經通知管理者。請再傳一次。',
  fileAway: '我無法從 Telegram 取得你的檔案。已經通知管理者。請過幾分鐘再傳一次。',
  unavailable: '目前無法從模型取得回答。已經通知管理者。請過幾分鐘再試一次。',
  misconfigured: '我目前無法回答。已經通知管理者。',
  budget: {
    usedUp: (whose, period, from) =>
      `${BUDGET[whose]}${PERIOD[period]}的額度已經用完，${again(from)}起我會再開始回答。`,
    nearly: (whose, period, share, from) =>
      `${BUDGET[whose]}${PERIOD[period]}的額度快用完了，大約已用 ${share}。用完之後，要到${again(from)}我才會再回答。`,
    share: (spent, max) => `${spent}／${max}`,
    line: (whose, period, share, percent) => `${BUDGET[whose]}${PERIOD[period]}的額度：${share}（${percent}%）`,
  },
  declined: '模型拒絕回答這則訊息。你可以繼續傳別的訊息。',
  nothingToAdd: '完成了，沒有要補充的。',
  cutAnswer: '［回答已達長度上限。請要我繼續。］',
  brokenOff: '［回答到這裡中斷。請要我繼續。］',
  laneFull: (count) =>
    `等待中的訊息太多，所以${count === 1 ? '這一則' : `其中 ${count} 則`}我沒有收下。等我處理完後請再傳一次。`,
  kinds: {
    animation: '動畫',
    audio: '音訊檔',
    document: '檔案',
    game: '遊戲',
    live_photo: '原況照片',
    paid_media: '付費媒體',
    photo: '照片',
    story: '限時動態',
    unknown: '我不認識的類型',
    video: '影片',
    video_note: '影片留言',
    voice: '語音訊息',
  },
  unsupportedKind: (what) => `我還無法讀取這種訊息（${what}）。我可以讀文字、照片、PDF 和文字檔。`,
  unreadableFile: (why, name) => `我無法讀取${name ? `檔案「${name}」` : '這個檔案'}：${why}`,
  fileProblem: {
    empty: '它是空的。',
    other_kind: '我只能讀圖片、PDF 和 UTF-8 文字檔。',
    picture_format: '我不認得這種圖片格式。請以照片傳送，或使用 JPEG 或 PNG。',
    broken_picture: '圖片已損壞。請再傳一次。',
    huge_picture: '圖片的像素太多。請傳小一點的圖片。',
    broken_pdf: 'PDF 已損壞。請重新儲存後再傳。',
    locked_pdf: 'PDF 有密碼保護。請傳沒有密碼的檔案。',
    too_many_pages: 'PDF 頁數太多。請只傳需要的頁面。',
    too_slow: '開啟它需要太久。請傳簡單一點的檔案。',
    too_costly: '開啟它時記憶體不足。請傳簡單一點的檔案。',
    too_large: '它大於 20 MB。請傳小一點的檔案。',
    not_downloaded: '無法從 Telegram 下載。請再傳一次。',
  },

  heard: (words) => `🎤「${words}」`,
  nothingHeard: '我在這段錄音裡聽不出任何話。請再傳一次，或直接打字給我。',
  notTranscribed: '我目前無法把你的錄音轉成文字。已經通知管理者。請過幾分鐘再試一次，或直接打字給我。',

  didYouMean: (command) => `你是指 /${command} 嗎？`,
  whoami: (id, name, chat) =>
    `你是 ${id}${name === '' ? '' : `（${name}）`}。${chat === undefined ? '' : `這個聊天室是 ${chat}。`}`,
  newConversation: '新的對話從這裡開始。先前的對話會保留。',
  notPermitted: '在群組裡，只有允許名單上的人可以這麼做。',
  stoppedHere: '⏹ 已在此停止。',
  stoppedByOperator: '⏹ 這則訊息已由機器人的管理者停止，不會得到回覆。',
  stopped: '已停止。在這之前的訊息我不會再回答。',
  nothingToStop: '沒有可以停止的工作。',
  fileNotSent: (name) => `我無法傳送檔案「${name}」：Telegram 沒有接受它。`,
  stopButton: '⏹ 停止',
  working: '⏳ 處理中 …',
  usingTool: (name) => `正在使用 ${name}`,
  usingOwnTool: {
    recall: '正在搜尋先前的訊息',
    send_file: '正在準備檔案',
    reminders: '正在處理提醒',
    memory: '正在查看我對這個聊天室的記憶',
    ask_user: '正在讀取你的回答',
  },
  approval: {
    title: (count) => (count === 1 ? '我可以這麼做嗎？' : `我可以做這 ${count} 件事嗎？`),
    inFile: (chars) => `（共 ${chars} 個字，全文在上面的檔案裡）`,
    moreInFile: (count) => `… 另外 ${count} 個參數在上面的檔案裡`,
    file: '我打算做的事全部在這裡，問題在下面。',
    once: '允許這一次',
    always: '這裡一律允許',
    decline: '不允許',
    skip: '略過',
    decided: (how, by, choice) => {
      const who = by === '' ? '' : `${by} `;
      if (how === 'once') return `${who}已允許這一次。`;
      if (how === 'always') return `${who}已設為這裡一律允許。可以用 /tools 收回。`;
      if (how === 'chosen') return `${who}已回答：${choice}`;
      return `${who}不允許。`;
    },
    behind: (name) =>
      `我還在等上面那個問題的回覆。${name || '發問的人'}，或這裡任何可以使用我工具的人，都可以回答。之後我就處理你的訊息。`,
    over: '這個問題已經結束：已有人決定，或是我已不再等待。',
  },
  tools: {
    usual: (names) => (names.length === 0 ? '' : `我在這裡可以直接使用：\n${names.join('\n')}`),
    asking: (names) => (names.length === 0 ? '' : `使用這些之前我會先問：\n${names.join('\n')}`),
    none: '這裡沒有需要先問的工具。',
    askButton: (name) => `使用 ${name} 前先問`,
  },
  retryButton: '↻ 再試一次',
  retrying: '我正在重試那則訊息。',
  nothingToRetry: '這裡沒有失敗後可以重試的訊息。',
  compactedNow: (percent) =>
    `完成：較早的訊息已改用摘要，目前上下文用了 ${percent}%。輸入 /recall 加上關鍵字可以找回原來的內容。`,
  nothingToCompact: '目前還不需要壓縮：整段對話都放得下。',
  notCompacted: '目前無法產生摘要，內容沒有任何變動。請過幾分鐘再試一次。',

  status: {
    model: (name) => `模型：${name}`,
    context: (gauge, percent, tokens, window) => `上下文：${gauge} ${percent}%（${window} 個 token 中用了 ${tokens}）`,
    contextEmpty: '上下文：空的',
    conversation: (messages, since) => `對話：自 ${since} 起共 ${messages} 則訊息`,
    compacted: (when) => `上次壓縮：${when}`,
    neverCompacted: '從未壓縮：模型看得到每一則訊息。',
    working: (seconds) => `正在處理一則訊息，已經 ${seconds} 秒`,
    idle: '沒有等待中的訊息。',
    waiting: (count) => `有 ${count} 則訊息在等待。`,
    today: (cost) => `今日費用：約 ${cost}`,
  },
  usage: {
    title: '這個聊天室的大約費用：',
    today: '今天',
    week: '7 天',
    month: '30 天',
    line: (period, cost, calls, input, output) =>
      `${period}：${cost}（${calls} 次呼叫，輸入 ${input} 個 token，輸出 ${output} 個）`,
    persons: '30 天內每個人的費用：',
    others: '其他人',
    share: (name, cost, percent) => `${name}：${cost}（${percent}%）`,
    unpriced: '其中有些呼叫的價格不明，因此沒有計入總和。',
    estimated: '費用是我依模型價格估算的。日期以 UTC 為準。',
  },
  modelIs: (name) => `這個聊天室使用 ${name}。`,
  modelSet: (name) => `從下一則訊息起，這個聊天室使用 ${name}。`,
  modelGone: (gone, now) => `模型 ${gone} 已無法使用，這個聊天室從現在起改用 ${now}。想換別的模型，請輸入 /model。`,
  modelUnknown: (names) => `在這裡我只能使用這些模型：${names.join('、')}。`,
  languageIs: '我在這裡的通知使用繁體中文。這不會改變回答的語言。',
  languageUnknown: (names) => `我只支援這些語言：${names.join('、')}，或 auto。`,
  languageAuto: '我的通知現在會使用你應用程式的語言。',
  busy: {
    queue: '在我工作時傳來的訊息會排隊，一則一則回答。',
    merge: '在我工作時傳來的訊息會等待，之後一起回答。',
    interrupt: '在我工作時傳來的訊息會打斷目前的工作，兩者一起回答。',
    unknown: '請選擇 queue、merge 或 interrupt。',
  },
  busyButtons: { queue: '一則一則', merge: '一起回答', interrupt: '打斷' },
  reminders: {
    title: (count) => `有 ${count} 則提醒：`,
    none: '這裡沒有提醒。直接用自己的話告訴我，例如：明天早上九點提醒我打電話給小安。',
    line: (again, text) => `${again}：${text}`,
    cron: (cron, zone) => `，依 ${cron} 重複（${zone}）`,
    every: (minutes) => `，每 ${minutes} 分鐘重複`,
    cancelButton: (place) => `✕ 取消 ${place}`,
    cancelled: (text) => `已取消：${text}`,
    unknown: '這則提醒已經不在了。',
    restored: '已重新設定：',
    full: (max) => `這個聊天室已經有 ${max} 則提醒，請先取消一則。`,
    setForLater: '⏰ 我設定了以下提醒：',
    cancelledByModel: '⏰ 我取消了以下提醒：',
    undoButton: (place) => `↩ 復原 ${place}`,
    usage: '請輸入 /reminders，再選擇要取消的提醒。',
    plain: (text) => `⏰ 提醒：${text}`,
    dueAt: (when, more) => (more === 0 ? when : `${when}（之後還有 ${more} 次）`),
    late: (when) => `這則提醒原定於 ${when}，當時我無法送出。`,
    lateTogether: (lines) => `以下提醒的時間已過，當時我無法送出：\n${lines}`,
    behindQuestion: (text) => `⏰ 提醒：${text}\n\n等上面的問題有了回覆，我再接著說。`,
    waiting: (text) => `⏰ 提醒：${text}\n\n目前無法連上模型，它的回答稍後會到。`,
    left: (texts) => `這個群組換了新的 ID，下列提醒無法一起轉移。請重新設定：\n${texts.join('\n')}`,
  },
  memory: {
    title: (count, percent) => `我記得這個聊天室的這些事（${count} 則，已用 ${percent}%）：`,
    none: '我還沒有記住這個聊天室的任何事。直接告訴我就好，例如：記住我不吃肉。',
    from: { page: '（來自網頁或工具）', forward: '（來自轉傳的訊息）', unsure: '（在使用工具後記下）' },
    deleteButton: (place) => `🗑 刪除 ${place}`,
    deleteAllButton: '🗑 全部刪除',
    deleted: (text) => `已刪除：${text}`,
    deletedAll: '已刪除。我不再記得這個聊天室的任何事。',
    unknown: '這一則已經不存在。',
    asks: (count) => `這會刪除我對這個聊天室的全部記憶（${count} 則），而且無法復原。對話中說過的內容會留著。`,
    changed: '📝 我更改了對這個聊天室的記憶：',
    remembered: (text) => `已記住：${text}`,
    replaced: (text, before) => `已改成：${text}（原本是：${before}）`,
    restored: (text) => `已恢復：${text}`,
    tooLate: '這項更改已無法復原：它後來又被更改、已經復原過，或是超過一週了。',
    full: '無法復原：我對這個聊天室的記憶已經滿了。請先刪除一些。',
    exported: '我記得這個聊天室的這些事：',
    usage: '請輸入 /memory，再選擇要刪除的內容。',
    left: (lines) => `這個群組換了新的 ID，我對它的記憶無法一起移過去。請再告訴我該記住什麼：\n${lines}`,
  },
  timeZoneIs: (zone, now) => `這個聊天室的時間是 ${now}（${zone}）。`,
  timeZoneSet: (zone, now) => `這個聊天室的時間現在是 ${now}（${zone}）。先前設定的提醒時間不變。`,
  timeZoneUnknown: (word) => `我不認得時區「${word}」。請這樣輸入：/timezone Asia/Taipei，或 /timezone auto`,
  recallUsage: '請在指令後面輸入要搜尋的字，例如：/recall 台南 火車',
  recalled: (count) => `找到 ${count} 處，最相關的在前：`,
  nothingRecalled: '用這些字找不到任何內容。只會搜尋比目前上下文更早的訊息。',
  recalledInPart: '有些較舊的訊息無法搜尋。',
  recallFailed: '目前無法讀取歷史紀錄。請稍後再試。',
  exported: (messages) => `這個聊天室保留的全部內容：${messages} 則訊息。`,
  exportedReadable: '同樣的內容，方便閱讀的版本。',
  nothingToExport: '目前還沒有可以匯出的內容。',
  exportTooLarge: '這個聊天室太大，放不進一個檔案。請向管理者索取。',
  forgetAsks:
    '這會永久清除我保留的這個聊天室的一切：所有對話、檔案、提醒、我的記憶、設定和失敗的訊息，而且無法復原。Telegram 上顯示的內容會留著，直到你在那裡刪除。',
  forgetButton: '清除一切',
  forgotten: '已清除。新的對話從這裡開始。',

  start: '你好。傳訊息給我，我就會回答。',
  helpTitle: '傳訊息給我，我就會回答。你可以傳文字、照片、PDF 和文字檔。',
  helpVoice: '也可以傳語音訊息，我會先轉成文字。',
  helpReminders: '想在某個時間收到提醒，直接告訴我就好。',
  helpInGroups: '在這個群組裡，提到我、回覆我或使用指令時，我才會回答。',
  helpPrivacy:
    '因為我的隱私模式開著，Telegram 在這裡只讓我看到指令和回覆。要讓我看到提及，擁有者可以在 @BotFather 關閉它，再把我重新加入群組。',
  menu: {
    stop: '停止目前和等待中的工作',
    new: '開始新的對話',
    retry: '重試最近一則失敗的訊息',
    status: '查看上下文用量、等待中的訊息和費用',
    model: '選擇模型',
    compact: '將較早的訊息改成摘要以騰出空間',
    recall: '搜尋先前的訊息',
    export: '以檔案取得這個聊天室',
    tools: '查看我不必先問就能做的事',
    usage: '查看呼叫次數、token 和費用',
    reminders: '查看提醒',
    memory: '查看並刪除我記住的事',
    timezone: '設定這個聊天室的時區',
    busy: '選擇如何處理我工作時傳來的訊息',
    lang: '選擇通知的語言',
    forget: '清除我保留的這個聊天室的一切',
    help: '查看我能做什麼',
  },
};
