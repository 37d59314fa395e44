-- Search and counts: how text is compared, and the keys of the index. Text is folded the same way in every database, whatever its
-- locale: NFKC of Unicode's full case folding (C and F of CaseFolding.txt 16.0) of the NFKD. Only lower() in "C" and normalize() of
-- PostgreSQL take part. FoldTest compares the result with Unicode's data.

create or replace function annals.combination_key(action text, actor text, outcome text) returns bytea
language sql immutable parallel safe
return sha256(convert_to(jsonb_build_array(action, actor, outcome)::text, 'UTF8'));

-- The letters that fold to one other, and these: those that NFKD leaves, and frequent ones of text that needs no normalization.
create or replace function annals.cased_letters() returns text
language sql immutable parallel safe
return 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĴĶĹĻĽŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳ'
  'ƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϘϚϜϞϠϢϤϦϨϪϬϮϷϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦ'
  'ЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍ'
  'ՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᏸᏹᏺᏻᏼᏽᲀᲁᲂᲃᲄᲅᲆᲇᲈᲉᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿẞẠẢẤẦẨẪẬẮ'
  'ẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾℲↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜ'
  'ⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄ'
  'ꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟋꟌꟐꟖꟘꟚꟜꟵꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺ'
  'ꮻꮼꮽꮾꮿ！（），０１２３４５６７８９：；？ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵'
  '𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐵐𐵑𐵒𐵓'
  '𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡';

create or replace function annals.folded_letters() returns text
language sql immutable parallel safe
return 'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴ'
  'ƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏιͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗϙϛϝϟϡϣϥϧϩϫϭϯϸϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхц'
  'чшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռս'
  'վտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭᏰᏱᏲᏳᏴᏵвдосттъѣꙋᲊაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿßạảấầẩẫậắ'
  'ằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿⅎↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝ'
  'ⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅ'
  'ꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊɤꟍꟑꟗꟙꟛƛꟶᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪ'
  'ᏫᏬᏭᏮᏯ!(),0123456789:;?abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝'
  '𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𐵰𐵱𐵲𐵳'
  '𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃';

create or replace function annals.case_folding() returns jsonb
language sql immutable parallel safe
return jsonb_object(string_to_array(annals.cased_letters(), null), string_to_array(annals.folded_letters(), null));

-- Whether lower() in "C" folds a text: all other characters fold and normalize to themselves, whatever stands beside them.
create or replace function annals.is_nearly_folded(content text) returns boolean
language sql immutable parallel safe
return content collate "C" !~ '[^\u0001-\u007f\u00a1-\u00a7\u00a9\u00ab-\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf\u00d7\u00e0-\u00ff\u0101'
  '\u0103\u0105\u0107\u0109\u010b\u010d\u010f\u0111\u0113\u0115\u0117\u0119\u011b\u011d\u011f\u0121\u0123\u0125'
  '\u0127\u0129\u012b\u012d\u012f\u0131\u0135\u0137\u0138\u013a\u013c\u013e\u0142\u0144\u0146\u0148\u014b\u014d'
  '\u014f\u0151\u0153\u0155\u0157\u0159\u015b\u015d\u015f\u0161\u0163\u0165\u0167\u0169\u016b\u016d\u016f\u0171'
  '\u0173\u0175\u0177\u017a\u017c\u017e\u0390\u03ac-\u03c1\u03c3-\u03ce\u0430-\u045f\u0491\u05d0-\u05ea'
  '\u0621-\u064a\u0660-\u0669\u1ea1\u1ea3\u1ea5\u1ea7\u1ea9\u1eab\u1ead\u1eaf\u1eb1\u1eb3\u1eb5\u1eb7\u1eb9\u1ebb'
  '\u1ebd\u1ebf\u1ec1\u1ec3\u1ec5\u1ec7\u1ec9\u1ecb\u1ecd\u1ecf\u1ed1\u1ed3\u1ed5\u1ed7\u1ed9\u1edb\u1edd\u1edf'
  '\u1ee1\u1ee3\u1ee5\u1ee7\u1ee9\u1eeb\u1eed\u1eef\u1ef1\u1ef3\u1ef5\u1ef7\u1ef9\u200d-\u2010\u2012-\u2016'
  '\u2018-\u2023\u2027-\u202e\u2030-\u2032\u2035\u2038-\u203a\u20a0-\u20a7\u20a9-\u20bf\u2190-\u222b\u222e'
  '\u2231-\u2328\u232b-\u23ff\u2500-\u27bf\u2b00-\u2b73\u2b76-\u2b95\u2b97-\u2bff\u3001-\u3029\u3030-\u3035\u3037'
  '\u303b-\u303f\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\ufe0e\ufe0f\ufffd'
  '\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001f9ff\U0001fa70-\U0001faff\U00020000-\U0002a6df]';

-- Whether a text needs no normalization besides folding its letters one by one.
create or replace function annals.is_normal(content text) returns boolean
language sql immutable parallel safe
return content collate "C" !~ '[^\u0001-\u007f\u00a1-\u00a7\u00a9\u00ab-\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf-\u012f\u0131\u0134-\u013e'
  '\u0141-\u0148\u014a-\u017e\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce\u0400-\u045f\u0490\u0491'
  '\u05d0-\u05ea\u0621-\u064a\u0660-\u0669\u1ea0-\u1ef9\u200d-\u2010\u2012-\u2016\u2018-\u2023\u2027-\u202e'
  '\u2030-\u2032\u2035\u2038-\u203a\u20a0-\u20a7\u20a9-\u20bf\u2190-\u222b\u222e\u2231-\u2328\u232b-\u23ff'
  '\u2500-\u27bf\u2b00-\u2b73\u2b76-\u2b95\u2b97-\u2bff\u3001-\u3029\u3030-\u3035\u3037\u303b-\u303f\u3041-\u3096'
  '\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\ufe0e\ufe0f\uff01\uff08\uff09\uff0c\uff10-\uff1b\uff1f'
  '\uff21-\uff3a\uff41-\uff5a\ufffd\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f900-\U0001f9ff'
  '\U0001fa70-\U0001faff\U00020000-\U0002a6df]';

-- Characters that normalize() of PostgreSQL 16 to 18 changes and that of 15 does not know, for an expression. They stay as they are, so that
-- all versions fold a text alike.
create or replace function annals.later_characters() returns text
language sql immutable parallel safe
return '\u0897\U000105c0-\U000105ff\U00010d40-\U00010d8f\U00010ec0-\U00010eff\U00011380-\U000113ff\U00011f00-\U00011f5f'
  '\U00016100-\U0001613f\U00016d40-\U00016d7f\U0001cc00-\U0001cebf\U0001e030-\U0001e08f\U0001e4d0-\U0001e4ff'
  '\U0001e5d0-\U0001e5ff';

-- Characters that normalize() sorts, such as accents: their decomposition begins with a character of a combining class.
create or replace function annals.combining_characters() returns text
language sql immutable parallel safe
return '\u0300-\u034e\u0350-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f'
  '\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07eb-\u07f3\u07fd\u0816-\u0819'
  '\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u08ff\u093c\u094d\u0951-\u0954'
  '\u09bc\u09cd\u09fe\u0a3c\u0a4d\u0abc\u0acd\u0b3c\u0b4d\u0bcd\u0c3c\u0c4d\u0c55\u0c56\u0cbc\u0ccd\u0d3b\u0d3c\u0d4d'
  '\u0dca\u0e38-\u0e3a\u0e48-\u0e4b\u0eb8-\u0eba\u0ec8-\u0ecb\u0f18\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f75\u0f7a-\u0f7d'
  '\u0f80-\u0f84\u0f86\u0f87\u0fc6\u1037\u1039\u103a\u108d\u135d-\u135f\u1714\u1715\u1734\u17d2\u17dd\u18a9\u1939-\u193b'
  '\u1a17\u1a18\u1a60\u1a75-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b34\u1b44\u1b6b-\u1b73\u1baa\u1bab\u1be6\u1bf2\u1bf3'
  '\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce0\u1ce2-\u1ce8\u1ced\u1cf4\u1cf8\u1cf9\u1dc0-\u1dff\u20d0-\u20dc\u20e1\u20e5-\u20f0'
  '\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f\u3099\u309a\ua66f\ua674-\ua67d\ua69e\ua69f\ua6f0\ua6f1\ua806\ua82c\ua8c4'
  '\ua8e0-\ua8f1\ua92b-\ua92d\ua953\ua9b3\ua9c0\uaab0\uaab2-\uaab4\uaab7\uaab8\uaabe\uaabf\uaac1\uaaf6\uabed\ufb1e'
  '\ufe20-\ufe2f\uff9e\uff9f\U000101fd\U000102e0\U00010376-\U0001037a\U00010a0d\U00010a0f\U00010a38-\U00010a3a\U00010a3f'
  '\U00010ae5\U00010ae6\U00010d24-\U00010d27\U00010eab\U00010eac\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011046'
  '\U00011070\U0001107f\U000110b9\U000110ba\U00011100-\U00011102\U00011133\U00011134\U00011173\U000111c0\U000111ca'
  '\U00011235\U00011236\U000112e9\U000112ea\U0001133b\U0001133c\U0001134d\U00011366-\U0001136c\U00011370-\U00011374'
  '\U00011442\U00011446\U0001145e\U000114c2\U000114c3\U000115bf\U000115c0\U0001163f\U000116b6\U000116b7\U0001172b'
  '\U00011839\U0001183a\U0001193d\U0001193e\U00011943\U000119e0\U00011a34\U00011a47\U00011a99\U00011c3f\U00011d42'
  '\U00011d44\U00011d45\U00011d97\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016ff0\U00016ff1\U0001bc9e'
  '\U0001d165-\U0001d169\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad'
  '\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018\U0001e01b-\U0001e021\U0001e023\U0001e024'
  '\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a';

-- normalize() of a text with later characters, which stay as they are, or with long runs of combining characters. Its time grows with the
-- square of such a run, and it cannot be interrupted, so an invisible joiner divides the run (Stream-Safe Text Format of UAX #15).
create or replace function annals.normalized_in_parts(content text, form text) returns text
language sql immutable parallel safe
return (
  select string_agg(run.part[1] || pg_catalog.normalize(run.part[2], form), '' order by run.place)
  from regexp_matches(
    regexp_replace(content collate "C",
      '([' || annals.combining_characters() || ']{30})(?=[' || annals.combining_characters() || '])', E'\\1\u034f', 'g'),
    '([' || annals.later_characters() || ']*)([^' || annals.later_characters() || ']*)', 'g') with ordinality as run (part, place));

create or replace function annals.normalized(content text, form text) returns text
language sql immutable parallel safe
return case
  when octet_length(content) = length(content) then content
  when content collate "C" ~ ('[' || annals.later_characters() || ']|[' || annals.combining_characters() || ']{31}')
    then annals.normalized_in_parts(content, form)
  else pg_catalog.normalize(content, form)
end;

-- Folds other texts. Each letter that differs costs a replacement; with many, each character costs as much, however many letters a writer
-- has thought of.
create or replace function annals.fold_unicode(content text) returns text
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp
as $$
declare
  as_it_is constant boolean := annals.is_normal(content);
  folded text := lower(case when as_it_is then content else annals.normalized(content, 'NFKD') end collate "C");
  cased text := regexp_replace(folded collate "C", '[^' || annals.cased_letters() || ']+', '', 'g');
  letter text;
begin
  if length(cased) > 100 then
    folded := array_to_string(array(
      select coalesce(annals.case_folding() ->> character, character)
      from string_to_table(folded, null) as character), '');
  else
    while cased <> '' loop
      letter := left(cased, 1);
      folded := replace(folded, letter, annals.case_folding() ->> letter);
      cased := replace(cased, letter, '');
    end loop;
  end if;
  folded := replace(folded, 'ß', 'ss');
  return case when as_it_is then folded else annals.normalized(folded, 'NFKC') end;
end $$;

create or replace function annals.fold(content text) returns text
language sql immutable parallel safe
return case
  when octet_length(content) = length(content) or annals.is_nearly_folded(content) then lower(content collate "C")
  else annals.fold_unicode(content)
end;

-- Text for words: folded and without accents.
create or replace function annals.unicode_word_text(content text) returns text
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp
as $$
declare
  folded text := annals.fold(content);
begin
  -- Letters with accents, and accents of their own.
  if folded collate "C" ~ '[\u00df-\u024f\u0300-\u036f\u0386-\u03ce\u0400-\u045f\u1e00-\u1fff]' then
    folded := annals.normalized(folded, 'NFD');
    -- Without the joiner, which still divides other marks.
    folded := regexp_replace(folded collate "C", '[\u0300-\u034e\u0350-\u036f]+', '', 'g');
    folded := translate(annals.normalized(folded, 'NFC'), E'øłđħŧ\u034f', 'oldht');
  end if;
  return folded;
end $$;

create or replace function annals.word_text(content text) returns text
language sql immutable parallel safe
return case when octet_length(content) = length(content) then lower(content collate "C") else annals.unicode_word_text(content) end;

-- The words of such a text, split at white space and punctuation. Most separators are single spaces, which string_to_array() finds; each
-- match of the expression costs as much as all else about a word.
create or replace function annals.split_words(word_text text) returns text[]
language sql immutable parallel safe
return array_remove(
  string_to_array(
    regexp_replace(word_text collate "C",
      '[\t-\r!"#$%&''()*+,./:;<=>?@\[\\\]^_`{|}~\u0085\u00a0\u00a1\u00ab\u00bb\u00bf\u2010-\u2027\u2028-\u202f\u2039\u203a\u2e3a\u2e3b\u3000-\u3002\u300c-\u300f-]+',
      ' ', 'g'),
    ' '),
  '');

create or replace function annals.words(content text) returns text[]
language sql immutable parallel safe
return annals.split_words(annals.word_text(content));

-- Whether a word is an id: hexadecimal with a digit, four digits in a row, digits among letters, or very long. Ids are unlimited in number, so
-- the dictionary has none; they are found as a whole or by their beginning.
create or replace function annals.is_id(word text) returns boolean
language sql immutable parallel safe
return length(word) > 64
  or length(word) > 3 and word collate "C" ~ '[0-9]'
    and (length(word) > 19 or word collate "C" ~ '^[0-9a-f]+$|[0-9]{4}|^(?=.{6}).*[0-9][^0-9]+[0-9]');

-- Chinese, Japanese and Korean are written without spaces, so a word of them is looked for within words, and the index has each pair of
-- neighbouring characters.
create or replace function annals.has_dense(word text) returns boolean
language sql immutable parallel safe
return octet_length(word) > length(word)
  and word collate "C" ~ '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]';

create or replace function annals.pairs(word_text text) returns text[]
language sql immutable parallel safe
return array(
  select substr(piece, first, 2)
  from regexp_matches(
    word_text collate "C", '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]{2,}', 'g') as run (run)
  -- Pieces of a long run, because substr() counts from the beginning of its text.
  cross join lateral generate_series(1, length(run.run[1]) - 1, 64) as start
  cross join lateral (select substr(run.run[1], start, 65) as piece offset 0) as one
  cross join lateral generate_series(1, length(piece) - 1) as first);

-- The words by which a text is found.
create or replace function annals.indexed_words(content text) returns text[]
language sql immutable parallel safe
return case
  when octet_length(content) = length(content) or not annals.has_dense(annals.word_text(content)) then annals.words(content)
  else array(select word from unnest(annals.words(content)) as word where not annals.has_dense(word))
    || annals.pairs(annals.word_text(content))
end;

-- The other characters of words of Chinese, Japanese and Korean, for patterns.
create or replace function annals.beside_dense(content text) returns text[]
language sql immutable parallel safe
return case
  when octet_length(content) = length(content) or not annals.has_dense(annals.word_text(content)) then '{}'
  else array(
    select run.run[1]
    from unnest(annals.words(content)) as word
    cross join lateral regexp_matches(
      word collate "C", '[^\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+', 'g') as run (run)
    where annals.has_dense(word))
end;

-- Whether one of some words that are no ids has this text within.
create or replace function annals.has_within(words text, part text) returns boolean
language sql immutable parallel safe
return exists (select from string_to_table(
  case when annals.has_dense(words)
    then regexp_replace(words collate "C", '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+', ' ', 'g')
    else words end, ' ') as word where strpos(word, part) > 0 and not annals.is_id(word));

-- Words as they stand in a text of words with a space before and after each.
create or replace function annals.sought(wanted text, is_prefix boolean) returns text
language sql immutable parallel safe
return (
  select case when annals.has_dense(words[1]) then '' else ' ' end || array_to_string(words, ' ')
    || case when is_prefix or annals.has_dense(words[cardinality(words)]) then '' else ' ' end
  from (select annals.words(wanted) as words offset 0) as one);

-- The names and values of metadata as text. JSON's escapes are separators, so that no word begins with the letter of an escape.
create or replace function annals.metadata_text(metadata jsonb) returns text
language sql immutable parallel safe
return case when strpos(metadata::text, '\') = 0 then metadata::text
  else regexp_replace(metadata::text, '\\(u[0-9a-f]{4}|.)', ' ', 'g') end;

-- A value of metadata as a number: a JSON number, or a text that is one without an exponent. Null for others.
create or replace function annals.number_of(value jsonb) returns numeric
language sql immutable parallel safe
return case jsonb_typeof(value)
  when 'number' then value::numeric
  when 'string' then
    case when (value #>> '{}') collate "C" ~ '^-?[0-9]{1,30}(\.[0-9]{1,30})?$' then (value #>> '{}')::numeric end
end;

-- A value of metadata as a time: a date, or a time by RFC 3339, in UTC without an offset. Null for others.
create or replace function annals.time_of(value jsonb) returns timestamptz
language sql stable parallel safe
return case when jsonb_typeof(value) = 'string' and (value #>> '{}') collate "C" ~
    ('^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
    '([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?([Zz]|[+-](0[0-9]|1[0-5]):[0-5][0-9])?)?$')
  then case when left(value #>> '{}', 4) <> '0000' and substr(value #>> '{}', 9, 2)::integer
      <= extract(day from make_date(left(value #>> '{}', 4)::integer, substr(value #>> '{}', 6, 2)::integer, 1)
        + interval '1 month' - interval '1 day')
    then ((value #>> '{}') || case when (value #>> '{}') ~ '([Zz]|[+-][0-9]{2}:[0-9]{2})$' then '' else 'Z' end)::timestamptz end
end;

-- All that a person sees of a record, but for its times, its id and its number. The character between two fields is a word of its own,
-- so that no phrase is found across them.
create or replace function annals.record_text(r annals.audit_record) returns text
language sql immutable parallel safe
return r.action || coalesce(E' \x01 ' || r.actor_name, '') || coalesce(E' \x01 ' || r.actor_id, '') || coalesce(E' \x01 ' || r.actor_type, '')
  || coalesce(E' \x01 ' || r.subject_name, '') || coalesce(E' \x01 ' || r.subject_id, '') || coalesce(E' \x01 ' || r.subject_type, '')
  || coalesce(E' \x01 ' || r.outcome, '') || coalesce(E' \x01 ' || host(r.ip_address), '') || coalesce(E' \x01 ' || r.message, '')
  || coalesce(E' \x01 ' || annals.recorder(r.recorded_by_token, r.recorded_by_role), '')
  || coalesce(E' \x01 ' || annals.metadata_text(r.metadata), '');

-- A value of a field, in any case, as a number of 32 bits. A collision costs a useless look. Fields: 1 action, 2 actor (id or name),
-- 3 subject (id or name), 4 outcome, 5 IP address, 6 a word of any field, 7 any word, 8 the recorder, 9 the record's id, 10 the first two or
-- four characters of an id among the words, 11 a network, 12 actor type, 13 subject type, 14 the name of a member of metadata, in its case.
create or replace function annals.search_key(project_id uuid, field integer, value text) returns integer
language sql immutable parallel safe
return (hashtextextended(case when field in (6, 10, 11, 14) then value else annals.fold(value) end collate "C", uuid_hash_extended(project_id, field))
  >> 32)::integer;

-- A value in the dictionary; null if it has no place there, because it is too long for an index or has the character that divides terms.
create or replace function annals.term(field integer, value text) returns text
language sql immutable parallel safe
return (
  select case when field = 6 then value
    when octet_length(folded) + octet_length(value) < 1024 and strpos(value, E'\x01') = 0
    then folded || case when value = folded collate "C" then '' else E'\x01' || value end
  end
  from (select case when octet_length(value) < 1024 then annals.fold(value) end as folded offset 0) as one);

-- The networks by which an address, or a network in them, is indexed, the widest first.
create or replace function annals.networks(address inet) returns text[]
language sql immutable parallel safe
return case family(address)
  when 4 then (array[
    network(set_masklen(address, 8))::text, network(set_masklen(address, 16))::text, network(set_masklen(address, 24))::text])
    [:masklen(address) / 8]
  else (array[
    network(set_masklen(address, 32))::text, network(set_masklen(address, 48))::text, network(set_masklen(address, 64))::text])
    [:masklen(address) / 16 - 1]
end;

-- Keys of which each record has one that has a word, or a value of a field, with this beginning, or with this text within; ids are found by
-- their beginning alone. Null if there are too many terms, or if the dictionary lacks some.
create or replace function annals.pattern_keys(project_id uuid, field integer, is_within boolean, value text, most integer) returns integer[]
language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select case when cardinality(found.keys) <= most then found.keys || case
    when field <> 6 or is_within then '{}'
    when length(asked.part) < 4 then array[annals.search_key(project_id, 10, left(asked.part, 2))]
    when length(asked.part) = 4 then array[annals.search_key(project_id, 10, asked.part), annals.search_key(project_id, 6, asked.part)]
    else array[annals.search_key(project_id, 10, left(asked.part, 4))]
  end end
  from (
    select case
      when field <> 6 then annals.fold(value)
      when is_within then (annals.words(value))[1]
      else (annals.words(value))[cardinality(annals.words(value))]
    end as part) as asked
  cross join lateral (
    select array(
      select annals.search_key(project_id, field, case when field = 6 then term.term else split_part(term.term, E'\x01', 1) end)
      from annals.term
      where term.project_id = pattern_keys.project_id and term.field = pattern_keys.field and term.term > ''
        and (is_within or term.term between asked.part and asked.part || repeat(U&'\+10FFFF', 1024))
        and case when is_within then strpos(split_part(term.term, E'\x01', 1), asked.part) > 0 else starts_with(term.term, asked.part) end
      limit most + 1) as keys) as found
  where length(asked.part) > case when field <> 6 then 0 when is_within then 2 else 1 end
    and not exists (
      select from annals.term
      where term.project_id = pattern_keys.project_id and term.field = pattern_keys.field and term.term = '')
$$;

-- The terms of a field that begin so, in any case, as they were written.
create or replace function annals.terms_from(project_id uuid, field integer, beginning text, at_most integer) returns setof text
language sql stable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select case when field = 6 then t.term else split_part(t.term, E'\x01', -1) end
  from (select case when field = 6 then annals.word_text(beginning) else annals.fold(beginning) end as folded) as asked
  cross join lateral (
    select term from annals.term
    where term.project_id = terms_from.project_id and term.field = terms_from.field and term.term > ''
      -- the text behind is above all terms that begin so
      and term.term between asked.folded and asked.folded || repeat(U&'\+10FFFF', 1024)
      and starts_with(term.term, asked.folded)
    order by term.term
    limit at_most) as t
$$;

-- A digest of how this server makes keys. An index made in another way is made anew. PostgreSQL 15 to 18 make the same keys; a newer one
-- may normalize characters that these do not know.
create or replace function annals.search_mark() returns text
language sql immutable parallel safe
return '3' || md5(array_to_string(array(
    select annals.search_key('00000000-0000-0000-0000-000000000000', 6, word)
    from unnest(annals.words(
      U&'In ISTANBUL: \0130\0131I, CAFE\0301 CAF\00C9; \039B\039F\0301\0393\039F\03A3 \039B\038C\0393\039F\03C2 STRASSE \1E9E \FB01 '
      '\FF21\FF22\FF0C\FF23 \01C4 \1FBC \0416 \0531 \1C90 \13A0\AB70 \+010400 \1100\1161\11A8 \+01E030 \201Ca\201D\3001b\00A0c')) as word), ' '))
  || coalesce('-' || nullif(greatest(current_setting('server_version_num')::integer / 10000, 18), 18), '');

-- How a projection is made; null if its state does not depend on the server.
create or replace function annals.projection_mark(projection text) returns text
language sql immutable parallel safe
return case when projection = 'search' then annals.search_mark() end;
