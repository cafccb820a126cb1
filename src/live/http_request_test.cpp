#include "live/http_request.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ductile {
namespace {

const HttpReader::Check kAny = [](const HttpRequest&) {};

/// The status with which it is refused; 0: it is not.
int refused(const std::string& bytes) {
  HttpReader reader;
  reader.add(bytes);
  try {
    reader.next(kAny);
  } catch (const HttpError& error) {
    return error.status();
  }
  return 0;
}

TEST(HttpRequest, IsReadInPieces) {
  const std::string whole =
      "POST /api/v1/jobs/12_3?limit=2&user=a%20b+c HTTP/1.1\r\nHost: h\r\nX-Any:  two words \r\n"
      "Content-Length: 4\r\n\r\nbodyGET / HTTP/1.0\r\n\r\n";
  HttpReader reader;
  std::vector<HttpRequest> found;
  for (const char byte : whole) {
    reader.add({&byte, 1});
    if (auto request = reader.next(kAny)) found.push_back(*request);
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].steps, (std::vector<std::string>{"api", "v1", "jobs", "12_3"}));
  EXPECT_EQ(found[0].query.at("user"), "a b c");
  EXPECT_EQ(found[0].field("x-any"), "two words");
  EXPECT_EQ(found[0].body, "body");
  EXPECT_TRUE(found[0].stays);
  EXPECT_EQ(found[1].path, "/");
  EXPECT_FALSE(found[1].stays);
  EXPECT_FALSE(reader.has_part());
}

TEST(HttpRequest, IsRefusedBeforeItsBodyComes) {
  HttpReader reader;
  reader.add("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n");
  EXPECT_THROW(reader.next([](const HttpRequest&) { throw HttpError(401, "who is it", "say so"); }),
               HttpError);
}

TEST(HttpRequest, SaysWhatIsWrong) {
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/3\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(refused("GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET /?a=1&a=2 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n"), 501);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n"), 413);
  EXPECT_EQ(refused("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(refused("GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n"), 417);
  EXPECT_EQ(refused(std::string(HttpReader::kMostHead + 1, 'x')), 431);
}

TEST(HttpRequest, KnowsWhatItsFieldsMean) {
  const auto with = [](const std::string& fields) {
    HttpReader reader;
    reader.add("GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n");
    return reader.next(kAny).value();
  };
  EXPECT_FALSE(with("Connection: close, TE\r\n").stays);
  EXPECT_FALSE(with("Connection: TE ,\tClose\r\n").stays);
  EXPECT_FALSE(with("Connection: TE\r\nConnection: close\r\n").stays);
  EXPECT_TRUE(with("Connection: closed, keep-alive\r\n").stays);
  EXPECT_TRUE(with("Expect: 100-Continue\r\n").awaits_word);
  EXPECT_FALSE(with("").awaits_word);

  EXPECT_EQ(bearer_token("Bearer a"), "a");
  EXPECT_EQ(bearer_token("bEARER   a "), "a");
  EXPECT_EQ(bearer_token("Bearer"), "");
  EXPECT_EQ(bearer_token("Basic a"), std::nullopt);
  EXPECT_EQ(bearer_token("Bearera"), std::nullopt);
  EXPECT_EQ(bearer_token(""), std::nullopt);
  EXPECT_EQ(media_type("Application/JSON ; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type(""), "");
}

TEST(HttpRequest, KnowsSecretsAndHosts) {
  EXPECT_TRUE(are_same_secret("secret", "secret"));
  for (const char* const other : {"", "secre", "secret1", "Secret", "secretsecret"}) {
    EXPECT_FALSE(are_same_secret(other, "secret")) << other;
    EXPECT_FALSE(are_same_secret("secret", other)) << other;
  }
  for (const char* const host :
       {"127.0.0.1", "127.0.0.1:80", "LOCALHOST:1", "[::1]", "[fe80::1]:80", "here", "Here:9482"}) {
    EXPECT_TRUE(is_name_of_this_host(host, "here")) << host;
  }
  for (const char* const host : {"", ":80", "there", "here.example", "1.example", "[::1", "[::1]x",
                                 "localhost:80x", "127.0.0.1.", "[evil]"}) {
    EXPECT_FALSE(is_name_of_this_host(host, "here")) << host;
  }
}

TEST(HttpRequest, KnowsPlacesInJournals) {
  const EventPosition at{"0123456789abcdef", 17};
  EXPECT_EQ(to_text(at), "0123456789abcdef.17");
  EXPECT_EQ(parse_event_position(to_text(at)), at);
  for (const char* const text :
       {"", "17", "0123456789abcdef", "0123456789abcdef.", "0123456789abcdeF.1",
        "0123456789abcdef.-1", "0123456789abcdef.18446744073709551615", "0123456789abcdef.1 "}) {
    EXPECT_FALSE(parse_event_position(text)) << text;
  }
}

}  // namespace
}  // namespace ductile
