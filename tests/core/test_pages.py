"""Pages of matches: whatever a title or the data holds, it is text."""

import json
import re

from sparring.core.pages import match_page

HOSTILE = "</title></script><script>alert(1)</script><!--<script>&amp;\ud800\x1b[2J $data"


def test_nothing_in_a_title_or_in_data_is_html(tmp_path):
    (tmp_path / "page.html").write_text("<title>$title</title><script>$data</script> $$5")
    page = match_page(tmp_path / "page.html", title=HOSTILE, data={HOSTILE: [HOSTILE, 1.5]})
    page.encode()
    assert page.count("<") == 4
    assert page.endswith("</script> $5")
    assert json.loads(re.findall("<script>(.*)</script>", page)[0]) == {HOSTILE: [HOSTILE, 1.5]}
